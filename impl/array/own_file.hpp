// own_file: makes a file in place of what has the name, and takes it back if it did not become what
// it should.
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

/// A new file in place of what has the name. Another thread or process may do the same: then the
/// last one's file stays.
///
/// Errors          what unlink and open said; file_exists: others are always faster.
/// Crossings       unlink, open.
inline Result<os::UniqueFd> open_in_place(os::Os& os, const os::PathAt& where) {
  constexpr int tries_max = 100;
  for (int tries = 1;; ++tries) {
    LASTREF_CHECK(os::discard(os, where));
    auto file = os::open_file(os, where, {.write = true, .create = true});
    if (!failed_with(file, std::errc::file_exists) || tries == tries_max) {
      return file;
    }
  }
}

}  // namespace lastref::array
