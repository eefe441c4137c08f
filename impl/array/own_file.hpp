// own_file: makes a file in place of the one with that name, and removes it if it was not
// completed; and the name that other processes find it by.
#pragma once

#include <string>

#include <lastref/os.hpp>
#include <lastref/owners.hpp>

#include "impl/os/folders.hpp"
#include "impl/os/limits.hpp"

namespace lastref::array {

/// Removes the name if it still belongs to the open file. A file that another process has put there
/// in the meantime stays. Errors are ignored, because the caller has a more specific one.
inline void discard_own_quietly(os::Os& os, os::Fd fd, const os::PathAt& where) noexcept {
  const auto own = os.status(fd);
  const auto there = os.status_at(where);
  if (own && there && own->device == there->device && own->inode == there->inode) {
    static_cast<void>(os::discard(os, where));
  }
}

/// Creates a new file that replaces the file of that name. If several threads or processes do this
/// at
/// the same time, the file of the last one stays.
///
/// Errors          those of unlink and open; file_exists: others were faster at each attempt.
/// Crossings       unlink, open.
inline Result<os::UniqueFd> open_in_place(os::Os& os, const os::PathAt& where) {
  const int tries_max = os::limits_of(os).replacements;
  for (int tries = 1;; ++tries) {
    LASTREF_CHECK(os::discard(os, where));
    auto file = os::open_file(os, where, {.write = true, .create = true});
    if (!failed_with(file, std::errc::file_exists) || tries == tries_max) {
      return file;
    }
  }
}

/// Whether Linux would follow the symlink: not if another user has put it where all may do so.
/// proc_sys_fs(5), protected_symlinks.
///
/// Errors          of status_at.
inline Result<bool> may_follow(os::Os& os, const os::PathAt& link, const std::string& folder) {
  constexpr std::uint32_t sticky_for_all = 01002;
  LASTREF_TRY(status, os.status_at(link));
  if (status.owner == os.user_id()) {
    return true;
  }
  LASTREF_TRY(above, os.status_at({link.folder, folder + "."}));
  return (above.mode & sticky_for_all) != sticky_for_all || above.owner == status.owner;
}

/// Opens a path from you, which may be a symlink: `where` becomes the path of its target, and so
/// still names the file when the symlink is changed.
///
/// Errors          of open, read_link and status_at; too_many_symbolic_link_levels also for another
///                 user's symlink in a folder that all may write to.
/// Crossings       open; for a symlink status_at and read_link.
inline Result<os::UniqueFd> open_named(os::Os& os,
                                       os::PathAt& where,
                                       const os::OpenOptions& options) {
  constexpr int links_max = 40;  // path_resolution(7)
  for (int links = 0;; ++links) {
    auto file = os::open_file(os, where, options);
    if (!failed_with(file, std::errc::too_many_symbolic_link_levels) || links == links_max) {
      return file;
    }
    const std::string folder = where.path.substr(0, where.path.rfind('/') + 1);
    LASTREF_TRY(target, os.read_link(where));
    LASTREF_TRY(may, may_follow(os, where, folder));
    if (!may) {
      return file;
    }
    where =
        target.starts_with('/') ? os::PathAt(target) : os::PathAt(where.folder, folder + target);
  }
}

/// The path from the root, as of now: the program may change its folder. A path below an open
/// folder stays as it is, and so means nothing to another process.
///
/// Errors          as from_root.
/// Crossings       working_folder, for a name in the working folder.
inline Result<std::string> path_of(os::Os& os, const os::PathAt& where) {
  return where.folder == os::Fd::current_folder ? os::from_root(os, where.path)
                                                : Result<std::string>(where.path);
}

}  // namespace lastref::array
