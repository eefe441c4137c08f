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
Status make_with_parents(Os& os, const std::string& path) noexcept;

/// Whether only root, its owner and the folder's owner can rename or replace what is in `folder`:
/// it is not open to all, or is sticky. Where anybody may rename, a stranger can put a folder of
/// ours that is precious where one is that we shall delete.
///
/// Limits          looks at one folder, through symlinks on the way to it, and not at those above.
///
/// Errors          permission_denied; not_a_directory; what status_at said.
/// Crossings       status_at.
Status check_is_safe(Os& os, const std::string& folder) noexcept;

/// The same of the folder that `path` is in.
///
/// Errors          as check_is_safe.
/// Crossings       status_at.
Status check_parent(Os& os, const std::string& path) noexcept;

}  // namespace lastref::os
