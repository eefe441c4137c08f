#include "harness/cli/sibling.hpp"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "harness/program/program.hpp"

namespace lastref::harness {

void run_sibling(const std::string& verb,
                 const std::string& program,
                 std::vector<std::string> arguments,
                 Invocation& invocation) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string path = self.parent_path() / program;
  if (error || !std::filesystem::exists(path, error)) {
    invocation.refuse(fmt::format(
        "{}: {} is not built; it has to be in the folder of this program", verb, program));
    return;
  }
  const auto code = run_program(path, std::move(arguments));
  if (!code) {
    invocation.refuse(verb + ": " + describe(code.error()));
  } else if (!*code) {
    invocation.refuse(verb + ": it was killed");
  } else {
    invocation.exit = **code;
  }
}

}  // namespace lastref::harness
