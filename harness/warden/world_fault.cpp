#include "harness/warden/world_fault.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include "harness/warden/proc_inspect.hpp"
#include "harness/warden/tree_fault.hpp"

namespace lastref::harness::warden {
namespace {

constexpr std::string_view of_limit = "limit ";
constexpr std::string_view of_folder = "private ";

}  // namespace

bool is_world_fault(std::string_view text) noexcept {
  return text.starts_with(of_limit) || text.starts_with(of_folder);
}

Result<WorldFault> parse_world_fault(std::string_view text) {
  if (text.starts_with(of_limit)) {
    LASTREF_TRY(limit, parse_limit(text.substr(of_limit.size())));
    return limit;
  }
  if (!text.starts_with(of_folder)) {
    return failure(std::errc::invalid_argument,
                   fmt::format("{}: it is neither a limit nor a private folder", text));
  }
  LASTREF_TRY(folder, parse_private_folder(text.substr(of_folder.size())));
  if (folder.size.empty()) {
    return failure(std::errc::invalid_argument,
                   fmt::format("{}: a folder without a size is no fault; write =4k", text));
  }
  return folder;
}

bool limits_processes() {
  return !ignores_rights(::getpid());
}

bool is_fault(std::string_view text) {
  return is_world_fault(text) ? parse_world_fault(text).has_value()
                              : parse_tree_fault(text).has_value();
}

}  // namespace lastref::harness::warden
