#include "harness/cli/resumption.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "harness/explore/plans.hpp"
#include "harness/platform/build_id.hpp"
#include "harness/platform/hash.hpp"
#include "harness/platform/unique_fd.hpp"

namespace lastref::harness {

std::string build_of_program() {
  std::string id = build_id();
  if (id.empty()) {  // Then no other machine knows it.
    std::error_code error;
    const auto size = std::filesystem::file_size("/proc/self/exe", error);
    const auto time = std::filesystem::last_write_time("/proc/self/exe", error);
    id = fmt::format("{}.{}", size, time.time_since_epoch().count());
  }
  return id;
}

std::uint64_t hash_of_build() {
  return hash_of(build_of_program());
}

std::string new_temporary_file() {
  std::error_code error;
  std::string path = std::filesystem::temp_directory_path(error) / "lastref-resume-XXXXXX";
  const UniqueFd file(::mkstemp(path.data()));
  return error || !file ? std::string() : path;
}

std::string command_to_resume(const Invocation& invocation,
                              std::string_view resume,
                              const std::string& file) {
  std::string command = "lastref";
  for (const char* argument : invocation.arguments.subspan(1)) {
    command += " " + harness::quoted(argument);
  }
  return resume.empty() ? command + " --resume " + harness::quoted(file) : command;
}

}  // namespace lastref::harness
