#include "harness/cli/sibling.hpp"

#include <filesystem>
#include <iostream>
#include <utility>

#include <fmt/format.h>

#include "harness/program/program.hpp"

namespace lastref::harness {

namespace {

/// Empty if there is no /proc.
std::filesystem::path folder_of_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace

void run_sibling(const std::string& verb,
                 const std::string& program,
                 std::vector<std::string> arguments,
                 Invocation& invocation) {
  std::error_code error;
  const std::filesystem::path folder = folder_of_program();
  const std::string path = folder / program;
  if (folder.empty() || !std::filesystem::exists(path, error)) {
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

int become_worker(std::span<const char* const> arguments) {
  constexpr const char* program = "lastref-worker";
  std::error_code error;
  const std::filesystem::path folder = folder_of_program();
  std::filesystem::path path = folder / program;
  if (!std::filesystem::exists(path, error)) {
    path = folder / "../libexec" / program;
  }
  const Error why = become_program(path, {arguments.begin(), arguments.end()});
  std::cerr << "lastref: worker: " << describe(why) << '\n';
  return static_cast<int>(Exit::unusable);
}

}  // namespace lastref::harness
