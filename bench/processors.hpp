// processors: where a benchmark runs whose processes take turns.
//
// Where a message wakes a process on another processor, most of its time may be what that processor
// takes to wake up: in a virtual machine 30 to 55 us, and as the host pleases. On one processor the
// same message costs what the processes do for it. So such benchmarks run in both ways.
#pragma once

#include <functional>

#include <benchmark/benchmark.h>

namespace lastref::bench {

/// Runs it, and whatever it starts, on the processor that this thread is on now. The row says so
/// if it cannot be kept there.
void on_one_processor(benchmark::State& state, const std::function<void(benchmark::State&)>& run);

}  // namespace lastref::bench
