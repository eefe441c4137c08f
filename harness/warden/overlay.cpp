#include "harness/warden/overlay.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "harness/platform/namespaces.hpp"

namespace lastref::harness::warden {
namespace {

constexpr std::size_t listed_max = 50;

UniqueFd open_folder(const std::string& path) noexcept {
  return UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

std::string path_of(const UniqueFd& file) {
  return fmt::format("/proc/self/fd/{}", file.get());
}

/// A tmpfs without a visible name. It exists while something in it is mounted or open.
class Scratch {
 public:
  Scratch() : parent_(open_folder(std::filesystem::temp_directory_path().string())) {
    std::string path = path_of(parent_) + "/lastref_XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
      return;
    }
    name_ = path.substr(path.rfind('/') + 1);
    if (mount_tmpfs("private", path, "mode=700")) {
      folder_ = open_folder(path);
    }
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  /// Uses descriptors, because the overlay may cover its name.
  ~Scratch() {
    const int error = errno;
    if (folder_) {
      ::umount2(path_of(folder_).c_str(), MNT_DETACH);
    }
    folder_.reset();
    if (!name_.empty()) {
      ::unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR);
    }
    errno = error;
  }

  bool is_there() const noexcept { return folder_.get() >= 0; }
  std::string path() const { return path_of(folder_); }

 private:
  UniqueFd parent_;
  UniqueFd folder_;
  std::string name_;
};

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? std::optional(status) : std::nullopt;
}

/// A whiteout stands for a removed name.
bool is_whiteout(const struct stat& status) noexcept {
  return S_ISCHR(status.st_mode) && status.st_rdev == 0;
}

/// Whether the folder hides the contents of the folder of the same name in the lower layer.
bool is_opaque(const std::string& path) noexcept {
  char answer = 0;
  return (::lgetxattr(path.c_str(), "trusted.overlay.opaque", &answer, 1) == 1 ||
          ::lgetxattr(path.c_str(), "user.overlay.opaque", &answer, 1) == 1) &&
         answer == 'y';
}

/// A process that is root only in a user namespace may not set the attributes that overlays use by
/// default. Without such attributes, no folder could be removed in the overlay: EIO.
bool is_mounted(const std::string& upper, const std::string& folder, const std::string& folders) {
  const auto mounts = [&](const std::string& options) {
    return ::mount("overlay", folder.c_str(), "overlay", 0, options.c_str()) == 0;
  };
  const bool is_root = ::setxattr(upper.c_str(), "trusted.lastref", "y", 1, 0) == 0;
  return (!is_root && mounts(folders + ",userxattr")) || mounts(folders);
}

bool is_same_folder(const struct stat& one, const struct stat& other) noexcept {
  return one.st_mode == other.st_mode && one.st_uid == other.st_uid && one.st_gid == other.st_gid;
}

std::set<std::string> names_below(const std::string& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator(folder, error)) {
    names.insert(each.path().filename());
  }
  return names;
}

void add(Changes& changes, std::string path, std::string what) {
  if (changes.first.size() < listed_max) {
    changes.first.push_back({.path = std::move(path), .what = std::move(what)});
  } else {
    ++changes.more;
  }
}

}  // namespace

Overlay::Overlay(std::string folder) noexcept : folder_(std::move(folder)) {}

Result<Overlay> Overlay::over(const std::string& folder) {
  Overlay overlay(folder);
  LASTREF_CHECK(overlay.mount());
  return overlay;
}

Status Overlay::mount() {
  const Scratch scratch;
  const std::string upper = scratch.path() + "/upper";
  const std::string work = scratch.path() + "/work";
  const auto status = status_of(folder_ + "/.");
  const std::string folders =
      fmt::format("lowerdir={},upperdir={},workdir={}", folder_, upper, work);
  lower_ = open_folder(folder_);
  if (!scratch.is_there() || !status || ::mkdir(upper.c_str(), 0700) != 0 ||
      ::mkdir(work.c_str(), 0700) != 0 ||
      !give_attributes(upper,
                       status->st_uid,
                       status->st_gid,
                       status->st_mode) ||  // The overlay has those of its upper layer.

      !is_mounted(upper, folder_, folders)) {
    return failure(std::errc{errno}, folder_ + "=overlay");
  }
  upper_ = open_folder(upper);
  return ok();
}

void Overlay::list(Changes& changes) const {
  list_below("", changes);
}

void Overlay::list_below(const std::string& folder, Changes& changes) const {
  const std::string upper = path_of(upper_) + folder + '/';
  const std::string lower = path_of(lower_) + folder + '/';
  std::set<std::string> names = names_below(upper);
  if (!folder.empty() && is_opaque(path_of(upper_) + folder)) {
    names.merge(names_below(lower));
  }
  for (const std::string& name : names) {
    const std::string below = fmt::format("{}/{}", folder, name);
    const auto now = status_of(upper + name);
    const auto before = status_of(lower + name);
    const bool is_folder = now && S_ISDIR(now->st_mode);
    if (!now || is_whiteout(*now)) {
      add(changes, folder_ + below, "removed");
    } else if (!before) {
      add(changes, folder_ + below, "made");
    } else if (!is_folder || !is_same_folder(*now, *before)) {
      add(changes, folder_ + below, "changed");
    }
    if (is_folder) {
      list_below(below, changes);
    }
  }
}

}  // namespace lastref::harness::warden
