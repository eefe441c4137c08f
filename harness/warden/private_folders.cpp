#include "harness/warden/private_folders.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "harness/platform/namespaces.hpp"

namespace lastref::harness::warden {
namespace {

constexpr std::string_view ipc = "ipc";

bool is_folder(std::string_view path) {
  return path != ipc && path != own_pids;
}

/// "64k": digits, and a unit letter of tmpfs.
bool is_size(std::string_view text) {
  const std::string_view letters = "kKmMgG";
  if (!text.empty() && letters.find(text.back()) != std::string_view::npos) {
    text.remove_suffix(1);
  }
  const bool is_zero = text.find_first_not_of('0') == std::string_view::npos;
  return !is_zero && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::size_t names_in(const std::string& folder) {
  std::error_code error;
  const std::filesystem::directory_iterator names(folder, error);
  return error ? 0 : static_cast<std::size_t>(std::distance(begin(names), end(names)));
}

std::string options_of(const PrivateFolder& folder) {
  std::string options = "mode=1777";
  options += folder.size.empty() ? "" : ",size=" + folder.size;
  options += folder.inodes.empty() ? "" : ",nr_inodes=" + folder.inodes;
  return options;
}

}  // namespace

Result<PrivateFolder> parse_private_folder(std::string_view text) {
  if (!is_folder(text)) {
    return PrivateFolder{.path = std::string(text), .size = {}};
  }
  const std::size_t mark = text.rfind('=');
  PrivateFolder folder{.path = std::string(text.substr(0, mark)), .size = {}};
  if (mark != std::string_view::npos) {
    const std::string_view limits = text.substr(mark + 1);
    const std::size_t comma = limits.find(',');
    folder.size = limits.substr(0, comma);
    folder.inodes = comma == std::string_view::npos ? "" : limits.substr(comma + 1);
    folder.is_overlay = limits == "overlay";
    if (folder.is_overlay && folder.path.find_first_of(",:\\") != std::string::npos) {
      return failure(std::errc::invalid_argument,
                     fmt::format("{}: an overlay's name has no comma, colon or backslash", text));
    }
    if (folder.is_overlay) {
      folder.size.clear();
    } else if (!is_size(folder.size) ||
               (comma != std::string_view::npos && !is_size(folder.inodes))) {
      return failure(
          std::errc::invalid_argument,
          fmt::format("{}: after = come bytes, such as 64k, or bytes,inodes, or overlay", text));
    }
  }
  if (folder.path == "/proc" || folder.path.starts_with("/proc/") || folder.path == "/") {
    return failure(
        std::errc::invalid_argument,
        fmt::format("{}: the processes would not be visible, or the program not found", text));
  }
  if (!folder.path.starts_with('/')) {
    return failure(std::errc::invalid_argument, fmt::format("{}: not an absolute name", text));
  }
  return folder;
}

Result<PrivateWorld> make_private(const std::vector<PrivateFolder>& folders) {
  PrivateWorld world;
  if (folders.empty()) {
    return world;
  }
  const bool has_ipc = std::ranges::find(folders, ipc, &PrivateFolder::path) != folders.end();
  const int kinds = CLONE_NEWNS | (has_ipc ? CLONE_NEWIPC : 0);
  const bool has_namespaces =
      ::unshare(kinds) == 0 || enter_user_namespace(kinds, /*as_root=*/false);
  if (!has_namespaces || !keep_mounts_private()) {
    return failure(
        std::errc{errno},
        errno == ENOSPC ? "a namespace: user.max_user_namespaces allows no more" : "a namespace");
  }
  std::error_code error;
  const auto working_folder = std::filesystem::current_path(error);
  for (const PrivateFolder& folder : folders) {
    if (folder.is_overlay) {
      LASTREF_TRY(overlay, Overlay::over(folder.path));
      world.overlays.push_back(std::move(overlay));
      continue;
    }
    if (const std::size_t count = names_in(folder.path); count > 0) {
      world.hidden.push_back({.folder = folder.path, .count = count});
    }
    struct stat hidden {};
    const bool is_there = ::stat(folder.path.c_str(), &hidden) == 0;
    if (is_folder(folder.path) &&
        (!mount_tmpfs("private", folder.path, options_of(folder)) ||
         (is_there &&
          !give_attributes(folder.path, hidden.st_uid, hidden.st_gid, hidden.st_mode)))) {
      return failure(std::errc{errno}, folder.path);
    }
  }
  // A relative name would refer to the hidden folder.
  std::filesystem::current_path(working_folder, error);
  if (error) {
    return failure(std::errc::invalid_argument,
                   "the working folder is below it: " + working_folder.string());
  }
  return world;
}

Result<PrivateWorld> make_private_again(const std::vector<PrivateFolder>& folders) {
  std::error_code error;
  const auto working_folder = std::filesystem::current_path(error);
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
    if (is_folder(folder->path) && ::umount2(folder->path.c_str(), MNT_DETACH) != 0) {
      return failure(std::errc{errno}, folder->path);
    }
  }
  // It may be in a folder that is detached now.
  std::filesystem::current_path(working_folder, error);
  if (error) {
    return failure(std::errc{error.value()}, working_folder.string());
  }
  return make_private(folders);
}

}  // namespace lastref::harness::warden
