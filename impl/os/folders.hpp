// folders: what is missing above a folder.
#pragma once

#include <string>

#include <lastref/os.hpp>

namespace lastref::os {

/// Makes the folders above `path` that are not there, 0700. They stay, for they are not ours alone.
///
/// Errors          what make_folder said, but for file_exists.
inline Status make_parents(Os& os, const std::string& path) noexcept {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    Status made = os.make_folder(path.substr(0, at), 0700);
    if (!made && made.error().code != std::errc::file_exists) {
      return made;
    }
  }
  return ok();
}

}  // namespace lastref::os
