// place_path: how a file is named to those who do not have our working folder.
#pragma once

#include <string>

#include <lastref/os.hpp>

#include "impl/os/folders.hpp"

namespace lastref::array {

/// From the root on, now: a program may go elsewhere. Below an open folder it stays as it is, and
/// so names nothing to anybody else.
///
/// Errors          as from_root.
/// Crossings       working_folder, for a name in the working folder.
inline Result<std::string> path_of(os::Os& os, const os::PathAt& where) {
  return where.folder == os::Fd::current_folder ? os::from_root(os, where.path)
                                                : Result<std::string>(where.path);
}

}  // namespace lastref::array
