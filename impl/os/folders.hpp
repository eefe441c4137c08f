// folders: the folders above a path, and whether the path is safe from replacement by others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lastref/os.hpp>

namespace lastref::os {

/// The mode of a folder that no other user may read or change.
inline constexpr std::uint32_t private_folder = 0700;

/// Makes the folder, 0700, and the missing ones above it, 0700 too. Those above stay if this fails,
/// because others may use them already.
///
/// Errors          of make_folder for the path, including file_exists; for those above, all other
///                 errors.
/// Crossings       make_folder; once, if all above is there.
Status make_with_parents(Os& os, const std::string& path);

/// `path` from the root of the file system: its place now, even if this process changes its folder
/// later. Its parts stay unchanged, including symlinks and every ".." after a name.
///
/// Errors          filename_too_long, with the limit as part of the subject; of working_folder.
/// Crossings       working_folder, for a relative path.
Result<std::string> from_root(Os& os, const std::string& path);

/// All names in a folder, in the order of the kernel.
///
/// Errors          of open and read_folder.
/// Crossings       open, read_folder, close.
Result<std::vector<std::string>> names_in(Os& os, const std::string& folder);

/// Checks that the kernel can take the path.
///
/// Errors          filename_too_long, with the limit as part of the subject.
Result<std::string> not_too_long(std::string path);

/// Whether only root and the owners of folders can rename or replace the contents of `folder` and
/// of each folder above it: none is writable for all or for a group, except sticky ones. If another
/// user could rename, it could put an important folder of ours in the place of one that we shall
/// delete. For a symlink in the path, the folders above its target are checked as well as those
/// above the link.
///
/// Limits          If a symlink leads to a symlink, the folder of the latter is not checked.
///
/// Errors          permission_denied, not_a_directory, with the folder that is the cause; of
///                 working_folder and status_at.
/// Crossings       working_folder, if it is relative; status_at, one for each folder in the path.
Status check_is_safe(Os& os, const std::string& folder);

/// The same for the folder that contains `path`.
///
/// Errors          as check_is_safe.
/// Crossings       those of check_is_safe.
Status check_parent(Os& os, const std::string& path);

}  // namespace lastref::os
