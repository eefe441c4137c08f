#include "harness/platform/child_process.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace lastref::harness {

int start_child(const std::function<int()>& work) {
  const int child = ::fork();
  if (child == 0) {
    ::_exit(work());
  }
  return child;
}

std::optional<int> reap(int child) noexcept {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return std::nullopt;
    }
  }
  return status;
}

bool is_dead(int process, std::chrono::milliseconds patience) noexcept {
  const UniqueFd its_process = open_pidfd(process);
  if (!its_process) {
    return true;  // Dead and reaped.
  }
  pollfd item{.fd = its_process.get(), .events = POLLIN, .revents = 0};
  return ::poll(&item, 1, static_cast<int>(patience.count())) == 1;
}

UniqueFd open_pidfd(int process) noexcept {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

std::optional<int> status_of_reaped(const UniqueFd& process) noexcept {
  // linux/pidfd.h, PIDFD_GET_INFO and PIDFD_INFO_EXIT, which Debian 12 does not have
  struct Info {
    std::uint64_t mask = std::uint64_t{1} << 3U;
    std::uint64_t cgroup = 0;
    std::array<std::uint32_t, 11> numbers = {};
    std::int32_t exit_code = 0;
  } info;
  const std::uint64_t asked = info.mask;
  const bool is_told = process && ::ioctl(process.get(), _IOWR(0xFF, 11, Info), &info) == 0 &&
                       (info.mask & asked) != 0;
  return is_told ? std::optional<int>(info.exit_code) : std::nullopt;
}

UniqueFd copy_fd_of(int process, int descriptor) noexcept {
  const UniqueFd its_process = open_pidfd(process);
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_getfd, its_process.get(), descriptor, 0)));
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace lastref::harness
