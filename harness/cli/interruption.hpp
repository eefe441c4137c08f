// Interruption: Ctrl-C and SIGTERM, for a verb that has something to say before it ends.
#pragma once

#include <chrono>
#include <string>

namespace lastref::harness {

/// While one lives, the first of these signals is noted, and the second ends the program at once.
/// One at a time.
class Interruption {
 public:
  /// What comes within `together` of the first one is no second one: timeout(1) sends one to us,
  /// and one to our group.
  explicit Interruption(
      std::chrono::milliseconds together = std::chrono::milliseconds(-1)) noexcept;
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  /// Whether there was one; asked by any thread.
  static bool happened() noexcept;
  /// Which; 0: there was none.
  static int signal() noexcept;
};

/// For what was done so far: a new file of our own where temporary ones go; empty if there can be
/// none.
std::string new_temporary_file();

}  // namespace lastref::harness
