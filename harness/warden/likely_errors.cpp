#include "harness/warden/likely_errors.hpp"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

#include "harness/platform/names.hpp"
#include "harness/warden/syscalls.hpp"

namespace lastref::harness::warden {
namespace {

using std::string_view;

bool has_word(string_view words, string_view word) noexcept {
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) {
      return true;
    }
    at = end + 1;
  }
  return false;
}

bool has_word(const std::array<string_view, 6>& groups, string_view word) noexcept {
  return std::ranges::any_of(groups, [&](string_view words) { return has_word(words, word); });
}

}  // namespace

Where where_is(const std::string& object) {
  if (object.starts_with("/memfd:")) {
    return Where::memory;
  }
  if (object.empty()) {
    return Where::nowhere;
  }
  struct stat what {};
  const bool is_file = ::stat(object.c_str(), &what) != 0 || S_ISREG(what.st_mode) ||
                       S_ISDIR(what.st_mode) || S_ISLNK(what.st_mode);
  if (!object.starts_with('/') || !is_file) {
    return Where::stream;
  }
  struct statfs status {};
  std::filesystem::path path = object;
  // For a name that does not exist, the nearest existing folder determines the file system.
  while (::statfs(path.c_str(), &status) != 0 && path.has_relative_path()) {
    path = path.parent_path();
  }
  switch (status.f_type) {
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
      return Where::memory;
    case NFS_SUPER_MAGIC:
    case SMB2_SUPER_MAGIC:
    case FUSE_SUPER_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
      return Where::network;
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case DEBUGFS_MAGIC:
      return Where::kernel;
    default:
      return Where::disk;
  }
}

bool is_likely(string_view call, int error, Where where) noexcept {
  const SyscallRow* const row = syscall_named(call);
  const std::string name = name_of_error(error);
  const bool takes_space = where != Where::stream && where != Where::kernel;
  if (!takes_space && (error == ENOSPC || error == EDQUOT || error == EFBIG)) {
    return false;
  }
  if (row == nullptr || has_word(row->errors.anywhere, name)) {
    return row != nullptr;
  }
  switch (where) {
    case Where::memory:
    case Where::kernel:
    case Where::nowhere:
      return false;
    case Where::disk:
      return has_word(row->errors.disk, name);
    case Where::network:
      return has_word(row->errors.disk, name) || has_word(row->errors.network, name);
    case Where::stream:
      return has_word(row->errors.stream, name);
  }
  return false;
}

bool is_likely(string_view call, int error) noexcept {
  return is_likely(call, error, Where::network) || is_likely(call, error, Where::stream);
}

string_view name_of(Where where) noexcept {
  constexpr std::array<string_view, 6> names = {"on tmpfs",
                                                "on a disk",
                                                "on a network file system",
                                                "on a pipe, socket or device",
                                                "on a file of the kernel",
                                                "without an object"};
  return names.at(static_cast<std::size_t>(where));
}

std::string likely_errors_of(string_view call) {
  const SyscallRow* const row = syscall_named(call);
  if (row == nullptr) {
    return "";
  }
  std::string text;
  for (const string_view words : row->errors.anywhere) {
    text += (text.empty() || words.empty() ? "" : " ") + std::string(words);
  }
  const auto add = [&](string_view where, string_view errors) {
    if (!errors.empty()) {
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", where, errors);
    }
  };
  add("disk", row->errors.disk);
  add("network", row->errors.network);
  add("stream", row->errors.stream);
  return text;
}

}  // namespace lastref::harness::warden
