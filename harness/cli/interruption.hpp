// Interruption: Ctrl-C and SIGTERM, for a verb that reports before it ends.
#pragma once

#include <chrono>

namespace lastref::harness {

/// While an object exists, the first of these signals is recorded, and the second ends the program
/// at once. One object at a time.
class Interruption {
 public:
  /// A signal within `together` of the first one does not count as a second one: timeout(1) sends
  /// one to us, and one to our group.
  explicit Interruption(
      std::chrono::milliseconds together = std::chrono::milliseconds(-1)) noexcept;
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  /// Whether a signal arrived; callable from any thread.
  static bool happened() noexcept;
  /// The signal; 0: none arrived.
  static int signal() noexcept;
};

}  // namespace lastref::harness
