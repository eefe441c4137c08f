// SlowedOs: the kernel with a busy loop after one of its calls.
//
// So one program can act as a slower build and as the build before: `lastref perf self-test` has to
// find which one is slower. LASTREF_BENCH_SPIN is the place and the length: `read_at:120` is 120
// turns of an empty loop after each read_at, `body:9` is 9 turns in each iteration of a benchmark
// that makes no calls. LASTREF_BENCH_CALLS is a file. Each tree, when it ends, replaces the
// contents with the number of times that each call was made.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "harness/instrument/os_around.hpp"

namespace lastref::bench {

/// Where and how much a program is slowed.
struct Slowness {
  Call place = Call::none;
  bool is_in_body = false;
  std::uint64_t turns = 0;
  std::string calls = {};  ///< the file for the counts of calls; empty: none

  bool is_asked_for() const noexcept { return place != Call::none || !calls.empty(); }
};

/// Reads the variables. If one is invalid, prints the reason and ends the program with exit code 1.
const Slowness& slowness();

/// An empty loop, which is not optimised away.
inline void spin(std::uint64_t turns) noexcept {
  for (std::uint64_t turn = 0; turn < turns; ++turn) {
    asm volatile("" : "+r"(turn) : : "memory");
  }
}

/// The place for benchmarks that make no calls: in each iteration, in the measured part.
inline void spin_in_body(const Slowness& slow) noexcept {
  if (slow.is_in_body) {
    spin(slow.turns);
  }
}

class SlowedOs final : public harness::OsAround<SlowedOs> {
 public:
  SlowedOs(os::Os& inner, const Slowness& slow) : OsAround(inner), slow_(slow) {}
  SlowedOs(const SlowedOs&) = delete;
  SlowedOs& operator=(const SlowedOs&) = delete;
  /// Writes the counts of calls, if requested.
  ~SlowedOs() override;

  template <Call call, typename... Given>
  harness::AnswerOf<call> every(Given&&... given) noexcept {
    auto answer = harness::CallOf<call>::make(inner(), std::forward<Given>(given)...);
    counts_[static_cast<std::size_t>(call)].fetch_add(1, std::memory_order_relaxed);
    if (call == slow_.place) {
      spin(slow_.turns);
    }
    return answer;
  }

 private:
  const Slowness& slow_;
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(harness::last_row()) + 1>
      counts_ = {};
};

}  // namespace lastref::bench
