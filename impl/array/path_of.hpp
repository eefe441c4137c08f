// path_of: the name of a file for processes that do not have our working folder.
#pragma once

#include <string>

#include <lastref/os.hpp>

#include "impl/os/folders.hpp"

namespace lastref::array {

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
