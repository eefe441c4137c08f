// SlowedOs: the kernel, and after one of its calls a while of doing nothing.
//
// So one program can be the build in which somebody has made something slower, and the build before
// as well: `lastref perf self-test` has to find which one is which. LASTREF_BENCH_SPIN says where
// and how long: `read_at:120` is 120 turns of an empty loop after each read_at, `body:9` is 9 turns
// in each iteration of a benchmark that makes no call. LASTREF_BENCH_CALLS names a file, where each
// tree, as it ends, says how often each call was made, in place of the one before.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "harness/instrument/os_around.hpp"

namespace lastref::bench {

/// Where a program is slowed.
struct Slowness {
  Call place = Call::none;
  bool is_in_body = false;
  std::uint64_t turns = 0;
  std::string calls = {};  ///< the file for their counts; empty: nobody asks

  bool is_asked_for() const noexcept { return place != Call::none || !calls.empty(); }
};

/// Ends the program with exit code 1 and a word why, if the variable makes no sense.
const Slowness& slowness();

/// An empty loop, which is not optimised away.
inline void spin(std::uint64_t turns) noexcept {
  for (std::uint64_t turn = 0; turn < turns; ++turn) {
    asm volatile("" : "+r"(turn) : : "memory");
  }
}

/// The place of benchmarks that make no call: in each iteration, where time is taken.
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
  /// Says what was called, if somebody asks.
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
