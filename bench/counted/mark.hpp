// Mark: a signal from a counted program to the process that counts its calls from outside.
//
// It is a system call that is not made otherwise and does nothing: prctl(2) with an option that
// does not exist. Without a counter it is a call that fails.
#pragma once

#include <atomic>
#include <cstdint>

namespace lastref::bench {

inline constexpr unsigned mark_option = 0x4c52436e;

enum class Mark : std::uint8_t { begin = 1, end = 2 };

/// Counts that a process keeps itself, because they cannot be seen from outside. They have the same
/// address in every process of a counted program, because the program is not relocated when it
/// starts. A mark passes the address.
struct OwnCounts {
  std::atomic<std::uint64_t> crossings;  ///< calls through the Os seam, system calls or not
  std::atomic<std::uint64_t> copies;     ///< in memory, at least as large as a payload
  std::atomic<std::uint64_t> copied;     ///< bytes
};

extern OwnCounts own_counts;

/// While it exists, an operation is counted. It begins and ends when the whole tree is at rest.
class Marked {
 public:
  Marked() noexcept;
  Marked(const Marked&) = delete;
  Marked& operator=(const Marked&) = delete;
  ~Marked();
};

/// The number of times that an operation is done. The first ones fill caches, pools and buffers,
/// and do not count; the others have to be equal.
inline constexpr int warm_ups = 8;
inline constexpr int counted_rounds = 8;
inline constexpr int rounds = warm_ups + counted_rounds;

}  // namespace lastref::bench
