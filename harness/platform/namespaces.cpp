#include "harness/platform/namespaces.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <lastref/error.hpp>

#include "harness/platform/unique_fd.hpp"

namespace lastref::harness {
namespace {

bool write_text(const char* path, const std::string& text) noexcept {
  const UniqueFd file(::open(path, O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

bool enter_user_namespace(int kinds, bool as_root) noexcept {
  const auto map_of = [as_root](id_t id) {
    return std::to_string(as_root ? 0 : id) + ' ' + std::to_string(id) + " 1";
  };
  const std::string users = map_of(::geteuid());
  const std::string groups = map_of(::getegid());
  if (::unshare(CLONE_NEWUSER | kinds) != 0) {
    return false;
  }
  write_text("/proc/self/setgroups", "deny");
  return write_text("/proc/self/uid_map", users) && write_text("/proc/self/gid_map", groups);
}

bool mount_tmpfs(const char* name, const std::string& folder, const std::string& options) noexcept {
  return ::mount(name, folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
}

bool give_attributes(const std::string& folder,
                     std::uint32_t owner,
                     std::uint32_t group,
                     std::uint32_t mode) noexcept {
  [[maybe_unused]] const int owned = ::chown(folder.c_str(), owner, group);
  return ::chmod(folder.c_str(), mode & 07777) == 0;
}

bool keep_mounts_private() noexcept {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) {
    return true;
  }
  // After chroot(2), "/" is not a mount point. Joining the current namespace leads to its real
  // root; then we change back.
  const UniqueFd here(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd own(::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
  return here && own && ::setns(own.get(), CLONE_NEWNS) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::fchdir(here.get()) == 0 && ::chroot(".") == 0;
}

os::Pid fork_first_process(bool& permitted) noexcept {
  // Only children enter a new process namespace. This process therefore switches the namespace of
  // its next child, and then switches back. pid_namespaces(7)
  const UniqueFd own(::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
  permitted = own && ::unshare(CLONE_NEWPID) == 0;
  const pid_t child = ::fork();
  const int code = errno;
  if (permitted && child != 0) {
    const int back = ::setns(own.get(), CLONE_NEWPID);
    LASTREF_ASSERT(back == 0);
  }
  errno = code;
  return child;
}

bool has_proc() noexcept {
  return ::access("/proc/self/exe", F_OK) == 0;
}

bool mount_proc() noexcept {
  return ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
}

}  // namespace lastref::harness
