#include "harness/platform/unique_fd.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include <lastref/error.hpp>

namespace lastref::harness {
namespace {

FdPair pair_of(bool is_made, const std::array<int, 2>& ends) noexcept {
  return is_made ? FdPair{UniqueFd(ends[0]), UniqueFd(ends[1])} : FdPair{};
}

}  // namespace

void UniqueFd::reset(int fd) noexcept {
  if (const int before = std::exchange(fd_, fd); before >= 0) {
    const int error = errno;
    ::close(before);
    errno = error;
  }
}

void move_to(UniqueFd fd, int number) noexcept {
  LASTREF_ASSERT(fd.get() >= 0);
  const int moved = ::dup2(fd.get(), number);
  LASTREF_ASSERT(moved == number);
}

FdPair make_pipe(int flags) noexcept {
  std::array<int, 2> ends{};
  return pair_of(::pipe2(ends.data(), O_CLOEXEC | flags) == 0, ends);
}

FdPair make_socket_pair(int type) noexcept {
  std::array<int, 2> ends{};
  return pair_of(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) == 0, ends);
}

}  // namespace lastref::harness
