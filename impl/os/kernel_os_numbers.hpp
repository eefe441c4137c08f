// kernel_os_numbers: no descriptor of ours is 0, 1 or 2 (E1).
//
// If the program has closed one of them, the kernel gives it to the next call that opens a file,
// and messages for people on standard error would be written into that file. So a low number is
// moved away immediately. For the instant in between, another thread's message could still get
// there. Therefore, if a number was ever seen free, a placeholder takes it before the call: one
// opened with O_PATH, which refuses reads and writes like a number that is not open. open(2)
//
// Limits: the first call after the program has closed one, if a KernelOs existed before.
#pragma once

#include <array>

#include <lastref/os.hpp>

namespace lastref::os {

inline constexpr int standard_numbers = 3;

/// Checks which of 0, 1 and 2 are open in the program, so that the first call has the answer.
void look_at_standard_numbers() noexcept;

/// Whether descriptor `number`, 0 to 2, is the program's standard input, output or error, to be
/// written to and inherited. False for one that the program opened under a number that it had
/// closed: we have seen it free. False also for one that is close-on-exec, because then it is for
/// no other program.
bool is_standard(int number) noexcept;

/// Keeps 0, 1 and 2 in use for a scope, in which a descriptor is made.
class StandardNumbers {
 public:
  StandardNumbers() noexcept {
    if (any_was_free()) {
      take();
    }
  }
  StandardNumbers(const StandardNumbers&) = delete;
  StandardNumbers& operator=(const StandardNumbers&) = delete;
  ~StandardNumbers() {
    if (count_ > 0) {
      give_back();
    }
  }

 private:
  static bool any_was_free() noexcept;
  void take() noexcept;
  void give_back() noexcept;

  std::array<int, standard_numbers> taken_{};
  std::size_t count_ = 0;
};

/// The same file under a number that is 3 or more, close-on-exec; the low number is closed. -1 and
/// errno if that cannot be had, and for -1.
int moved_above_standard(int fd) noexcept;
inline int above_standard(int fd) noexcept {
  return fd >= standard_numbers ? fd : moved_above_standard(fd);
}

}  // namespace lastref::os
