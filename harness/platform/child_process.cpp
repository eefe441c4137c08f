#include "harness/platform/child_process.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

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
