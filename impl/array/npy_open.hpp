// npy_open: maps a .npy file that is open already, so that its caller says what may be opened: a
// temporary file of ours is never a symlink, and what a user names may be one.
#pragma once

#include <functional>
#include <string>

#include <lastref/array.hpp>
#include <lastref/memory.hpp>
#include <lastref/owners.hpp>

namespace lastref::array {

/// As map_npy. `path` is what `file()` will say.
///
/// Errors          as map_npy.
/// Crossings       read, status, map, close; unmap when the memory goes.
Result<Array> map_open_npy(os::Os& os,
                           os::UniqueFd file,
                           std::string path,
                           MapMode mode,
                           std::function<void()> when_unmapped);

}  // namespace lastref::array
