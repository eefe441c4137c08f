// processors: runs a benchmark on one processor, for processes that take turns.
//
// If a message wakes a process on another processor, most of its time may be the wake-up of that
// processor: in a virtual machine 30 to 55 us, depending on the host. On one processor the same
// message only costs the work of the processes. So such benchmarks run both ways.
#pragma once

#include <functional>

#include <benchmark/benchmark.h>

#include "harness/platform/one_processor.hpp"

namespace lastref::bench {

/// Runs `run`, and all processes that it starts, on the current processor of this thread. The row
/// has an error if that is not possible.
inline void on_one_processor(benchmark::State& state,
                             const std::function<void(benchmark::State&)>& run) {
  harness::OneProcessor here;
  if (!here.stay()) {
    state.SkipWithError("cannot stay on one processor");
    return;
  }
  run(state);
}

}  // namespace lastref::bench
