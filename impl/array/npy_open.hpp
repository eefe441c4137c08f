// npy_open: maps a .npy file that is already open, so that its caller decides what may be opened: a
// temporary file of ours is never a symlink, and a path from you may be one.
#pragma once

#include <functional>
#include <string>

#include <lastref/array.hpp>
#include <lastref/memory.hpp>
#include <lastref/owners.hpp>

namespace lastref::array {

/// As map_npy. `file()` returns `path`.
///
/// Errors          as map_npy.
/// Crossings       read, status, map, close; unmap when the memory is destroyed.
Result<Array> map_open_npy(os::Os& os,
                           os::UniqueFd file,
                           std::string path,
                           MapMode mode,
                           std::function<void()> when_unmapped);

}  // namespace lastref::array
