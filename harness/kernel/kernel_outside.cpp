#include "harness/kernel/kernel_outside.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "harness/kernel/control_block.hpp"
#include "harness/kernel/exec_handoff.hpp"
#include "harness/kernel/privileges.hpp"
#include "harness/platform/folder.hpp"
#include "harness/platform/unique_fd.hpp"

namespace lastref::harness {
namespace {

constexpr int looks_for_a_death_max = 1'000'000;

}  // namespace

void KernelOutside::change_mode(const std::string& path, std::uint32_t mode) {
  const std::string own = setting_.files.substr(0, setting_.files.rfind('/') + 1);
  if (setting_.is_isolated || path.starts_with(own)) {
    const AllPrivileges all;
    ::chmod(path.c_str(), mode);
  }
}

bool KernelOutside::unlink(const std::string& path) {
  const AllPrivileges all;
  return ::unlink(path.c_str()) == 0;
}

bool KernelOutside::rmdir(const std::string& path) {
  const AllPrivileges all;
  return ::rmdir(path.c_str()) == 0;
}

bool KernelOutside::make_folder(const std::string& path, std::uint32_t mode) {
  const AllPrivileges all;
  return ::mkdir(path.c_str(), mode) == 0;
}

bool KernelOutside::symlink(const std::string& target, const std::string& path) {
  const AllPrivileges all;
  return ::symlink(target.c_str(), path.c_str()) == 0;
}

bool KernelOutside::write(const std::string& path, const std::string& bytes) {
  setting_.note_writing(path);
  const AllPrivileges all;
  const UniqueFd file(::open(
      path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  return file &&
         ::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
}

bool KernelOutside::leave_messages_unread() {
  if (!setting_.is_read) {
    return false;
  }
  make_unread_pipe();
  return ::dup2(harness_fd::unread, STDERR_FILENO) == STDERR_FILENO;
}

void KernelOutside::read_messages_again() {
  const int now = ::dup2(harness_fd::standard_error, STDERR_FILENO);
  LASTREF_ASSERT(now == STDERR_FILENO);
}

bool KernelOutside::reuse_pid(os::Pid pid) {
  ::waitpid(pid, nullptr, WNOHANG);
  // The pid stays in use until the process is reaped, by us or, if SIGCHLD is ignored,
  // automatically.
  for (int looks = 0; looks < looks_for_a_death_max && ::kill(pid, 0) == 0; ++looks) {
    ::sched_yield();
  }
  const AllPrivileges all;
  const std::string before = std::to_string(pid - 1);
  return setting_.is_isolated && ::pwrite(harness_fd::last_pid, before.data(), before.size(), 0) ==
                                     static_cast<ssize_t>(before.size());
}

std::vector<std::string> KernelOutside::list(const std::string& folder) {
  const AllPrivileges all;
  std::vector<std::string> names;
  for (const auto& each : entries_of(folder)) {
    names.push_back(each.path().filename());
  }
  return names;
}

bool KernelOutside::is_locked(const std::string& folder) {
  const AllPrivileges all;
  const UniqueFd open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  // systemd's tmpfiles.c does the same in dir_cleanup before it descends.
  return open && ::flock(open.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace lastref::harness
