// Mark: what a counted program says to whoever counts its calls from outside.
//
// By a system call that nobody else makes and that does nothing: prctl(2) with an option that there
// is not. Without a counter it is a call that fails.
#pragma once

#include <atomic>
#include <cstdint>

namespace lastref::bench {

inline constexpr unsigned mark_option = 0x4c52436e;

enum class Mark : std::uint8_t { begin = 1, end = 2 };

/// What a process counts itself, for it cannot be seen from outside. At the same place in every
/// process of a counted program, which a mark tells: the program is not moved when it starts.
struct OwnCounts {
  std::atomic<std::uint64_t> crossings;  ///< of the seam: calls of Os, system calls or not
  std::atomic<std::uint64_t> copies;     ///< in memory, of what is as large as a payload
  std::atomic<std::uint64_t> copied;     ///< bytes
};

extern OwnCounts own_counts;

/// As long as it lives, an operation is counted. Both ends come when all of the tree is at rest.
class Marked {
 public:
  Marked() noexcept;
  Marked(const Marked&) = delete;
  Marked& operator=(const Marked&) = delete;
  ~Marked();
};

/// An operation is done so many times: the first ones fill caches, pools and buffers, and do not
/// count; the others have to be alike.
inline constexpr int warm_ups = 8;
inline constexpr int counted_rounds = 8;
inline constexpr int rounds = warm_ups + counted_rounds;

}  // namespace lastref::bench
