#include "impl/os/folders.hpp"

namespace lastref::os {
namespace {

constexpr std::uint32_t private_folder = 0700;
constexpr std::uint32_t writable_by_all = 0002;
constexpr std::uint32_t sticky = 01000;

}  // namespace

Status make_with_parents(Os& os, const std::string& path) noexcept {
  Status made = os.make_folder(path, private_folder);
  if (made || made.error().code != std::errc::no_such_file_or_directory) {
    return made;
  }
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    Status above = os.make_folder(path.substr(0, at), private_folder);
    if (!above && above.error().code != std::errc::file_exists) {
      return above;
    }
  }
  return os.make_folder(path, private_folder);
}

Status check_is_safe(Os& os, const std::string& folder) noexcept {
  // Through the dot in it: what has the name may be a symlink to what others may write to.
  LASTREF_TRY(status, os.status_at(folder + "/."));
  if (status.kind != FileKind::folder) {
    return failure(std::errc::not_a_directory, folder);
  }
  if ((status.mode & writable_by_all) != 0 && (status.mode & sticky) == 0) {
    return failure(std::errc::permission_denied, folder + " (anybody may rename what is in it)");
  }
  return ok();
}

Status check_parent(Os& os, const std::string& path) noexcept {
  const std::size_t slash = path.rfind('/');
  return check_is_safe(os, slash == std::string::npos ? "." : path.substr(0, slash));
}

}  // namespace lastref::os
