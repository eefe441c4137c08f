// folders: what is above a path, and whether the path can go on to mean what it does.
#pragma once

#include <string>

#include <lastref/os.hpp>

namespace lastref::os {

/// Makes the folder, 0700, and those above it that are not there, 0700 too. What was made above
/// stays if this fails, for it is not ours alone.
///
/// Errors          what make_folder said of the path, file_exists too; of those above all but that.
/// Crossings       make_folder; once, if all above is there.
Status make_with_parents(Os& os, const std::string& path);

/// `path` from the root of the file system: where it is now, wherever this process goes later. Its
/// parts stay as they are, symlinks and all ".." behind a name too.
///
/// Errors          filename_too_long, with the limit as part of the subject; what working_folder
///                 said.
/// Crossings       working_folder, for a relative path.
Result<std::string> from_root(Os& os, const std::string& path);

/// A path that the kernel can take.
///
/// Errors          filename_too_long, with the limit as part of the subject.
Result<std::string> not_too_long(std::string path);

/// Whether only root and the owners of folders can rename or replace what is in `folder`, or any
/// folder on the way to it: none is open to all or to a group, but sticky ones. Where somebody else
/// may rename, a stranger can put a folder of ours that is precious where one is that we shall
/// delete. Of a symlink on the way, what is above its target counts as well as what it lies in.
///
/// Limits          of a symlink that leads to a symlink, the folder of the latter is not looked at.
///
/// Errors          permission_denied, not_a_directory, with the folder that is to blame; what
///                 working_folder and status_at said.
/// Crossings       working_folder, if it is relative; status_at, one for each folder on the way.
Status check_is_safe(Os& os, const std::string& folder);

/// The same of the folder that `path` is in.
///
/// Errors          as check_is_safe.
/// Crossings       those of check_is_safe.
Status check_parent(Os& os, const std::string& path);

}  // namespace lastref::os
