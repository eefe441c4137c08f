#include "impl/os/folders.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <lastref/owners.hpp>

namespace lastref::os {
namespace {

constexpr std::uint32_t writable_by_others = 0022;  // a group's members among them
constexpr std::uint32_t sticky = 01000;

/// bytes; PATH_MAX includes the NUL at the end. limits.h(0p).
constexpr std::size_t path_size_max = 4095;
constexpr std::size_t path_shown_max = 200;

/// `folder` is in the format of getcwd(3), without symlinks, so the leading ".." of `path` can be
/// resolved. A ".." after a name cannot, because that name may be a symlink.
std::string below(std::string folder, std::string_view path) {
  for (;;) {
    const std::string_view first = path.substr(0, path.find('/'));
    if (path.empty() || (first != "." && first != ".." && !first.empty())) {
      break;
    }
    if (first == "..") {
      folder.erase(std::min(folder.rfind('/'), folder.size()));
    }
    path.remove_prefix(std::min(path.size(), first.size() + 1));
  }
  while (folder.ends_with('/')) {
    folder.pop_back();
  }
  return folder.append(path.empty() && !folder.empty() ? "" : "/").append(path);
}

Status check_one(const FileStatus& status, const std::string& folder) {
  if (status.kind != FileKind::folder) {
    return failure(std::errc::not_a_directory, folder);
  }
  if ((status.mode & writable_by_others) != 0 && (status.mode & sticky) == 0) {
    return failure(std::errc::permission_denied, folder + " (others may rename what is in it)");
  }
  return ok();
}

/// Checks the target of a symlink, and all folders above the target.
Status check_target(Os& os, const std::string& link) {
  std::optional<FileStatus> below;
  for (std::string folder = link + "/.";; folder += "/..") {
    LASTREF_TRY(status, os.status_at(folder));
    if (below && below->device == status.device && below->inode == status.inode) {
      return ok();  // The root is above itself.
    }
    LASTREF_CHECK(check_one(status, folder));
    below = status;
  }
}

}  // namespace

Result<std::vector<std::string>> names_in(Os& os, const std::string& folder) {
  LASTREF_TRY(open, open_file(os, folder, {.folder = true}));
  std::vector<std::string> names;
  for (;;) {
    LASTREF_TRY(entries, os.read_folder(open.get()));
    if (entries.empty()) {
      return names;
    }
    for (FolderEntry& each : entries) {
      names.push_back(std::move(each.name));
    }
  }
}

Result<std::string> not_too_long(std::string path) {
  if (path.size() > path_size_max) {
    // The whole path would not help.
    return failure(std::errc::filename_too_long,
                   path.substr(0, path_shown_max) + "... (" + std::to_string(path.size()) +
                       " bytes from the root on; the limit is " + std::to_string(path_size_max) +
                       ')');
  }
  return path;
}

Result<std::string> from_root(Os& os, const std::string& path) {
  std::string whole = path;
  if (!path.starts_with('/')) {
    LASTREF_TRY(working, os.working_folder());
    whole = below(std::move(working), path);
  }
  return not_too_long(std::move(whole));
}

Status make_with_parents(Os& os, const std::string& path) {
  Status made = os.make_folder(path, private_folder);
  if (made || made.error().code != std::errc::no_such_file_or_directory) {
    return made;
  }
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    Status above = os.make_folder(path.substr(0, at), private_folder);
    if (!above && above.error().code != std::errc::file_exists) {
      return above;
    }
  }
  return os.make_folder(path, private_folder);
}

Status check_is_safe(Os& os, const std::string& folder) {
  LASTREF_TRY(path, from_root(os, folder));
  for (;;) {
    while (path.size() > 1 && path.ends_with('/')) {
      path.pop_back();
    }
    LASTREF_TRY(status, os.status_at(path));
    if (status.kind == FileKind::symlink) {
      LASTREF_CHECK(check_target(os, path));
    } else {
      LASTREF_CHECK(check_one(status, path));
    }
    if (path == "/") {
      return ok();
    }
    path.erase(path.rfind('/') + 1);
  }
}

Status check_parent(Os& os, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return check_is_safe(os, slash == std::string::npos ? "." : path.substr(0, slash));
}

}  // namespace lastref::os
