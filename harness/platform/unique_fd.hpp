// UniqueFd: the owner of a descriptor.
#pragma once

#include <array>
#include <utility>

namespace lastref::harness {

class UniqueFd {
 public:
  UniqueFd() noexcept = default;
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }

  /// Negative: it owns none.
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  /// Closes the previous one, and leaves errno as it is.
  void reset(int fd = -1) noexcept;

 private:
  int fd_ = -1;
};

/// Changes the number of a descriptor.
void move_to(UniqueFd fd, int number) noexcept;

/// Closed at exec; without descriptors, and with errno, if it cannot be made.
using FdPair = std::array<UniqueFd, 2>;
/// The reading end comes first. `flags` are those of pipe2(2), in addition to O_CLOEXEC.
FdPair make_pipe(int flags = 0) noexcept;
/// AF_UNIX; `type` is that of socketpair(2).
FdPair make_socket_pair(int type) noexcept;

}  // namespace lastref::harness
