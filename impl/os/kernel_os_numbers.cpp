#include "impl/os/kernel_os_numbers.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace lastref::os {
namespace {

/// Bit n: number n was free at some time. Forked children inherit it; it is never cleared.
std::atomic<unsigned> seen_free = 0;

unsigned bit_of(int number) noexcept {
  return 1U << static_cast<unsigned>(number);
}

}  // namespace

void look_at_standard_numbers() noexcept {
  for (int number = 0; number < standard_numbers; ++number) {
    if (::fcntl(number, F_GETFD) < 0) {
      seen_free |= bit_of(number);
    }
  }
}

bool is_standard(int number) noexcept {
  const int flags = ::fcntl(number, F_GETFD);
  if (flags < 0) {
    seen_free |= bit_of(number);
    return false;
  }
  return (flags & FD_CLOEXEC) == 0 && (seen_free & bit_of(number)) == 0;
}

bool StandardNumbers::any_was_free() noexcept {
  return seen_free.load(std::memory_order_relaxed) != 0;
}

void StandardNumbers::take() noexcept {
  while (count_ < taken_.size()) {
    const int fd = ::open("/", O_PATH | O_CLOEXEC);
    if (fd >= standard_numbers) {
      ::close(fd);
    }
    if (fd < 0 || fd >= standard_numbers) {
      return;
    }
    seen_free |= bit_of(fd);
    taken_[count_++] = fd;
  }
}

void StandardNumbers::give_back() noexcept {
  const int code = errno;
  while (count_ > 0) {
    ::close(taken_[--count_]);
  }
  errno = code;
}

int moved_above_standard(int fd) noexcept {
  if (fd < 0) {
    return fd;
  }
  seen_free |= bit_of(fd);
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, standard_numbers);
  const int code = errno;
  ::close(fd);
  errno = code;
  return moved;
}

}  // namespace lastref::os
