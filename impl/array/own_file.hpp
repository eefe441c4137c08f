// own_file: takes back a file that was made and did not become what it should.
#pragma once

#include <lastref/os.hpp>
#include <lastref/owners.hpp>

namespace lastref::array {

/// Removes the name if it still is that of the open file: whoever has put another file there in the
/// meantime keeps it. What goes wrong is swallowed, because the caller has an error that says more.
inline void discard_own_quietly(os::Os& os, os::Fd fd, const os::PathAt& where) noexcept {
  const auto own = os.status(fd);
  const auto there = os.status_at(where);
  if (own && there && own->device == there->device && own->inode == there->inode) {
    static_cast<void>(os::discard(os, where));
  }
}

}  // namespace lastref::array
