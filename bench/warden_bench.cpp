// warden_bench: the cost of a system call under the warden, compared with other ways to watch. One
// of them is a bare notification: the kernel stops the call and the supervisor lets it continue.
//
// Each round makes the call in all of these ways, one after another, so that other load affects all
// of them. A row has the shortest time of each. `beside_...` is the time under the warden as a
// multiple of that way. `..._takes` is the time of another way as a multiple of that under the
// warden. The time column is the mean over all rounds under the warden, which is noisy.
//
// The calls find nothing: the less the kernel has to do for them, the clearer is the overhead.
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/measured_calls.hpp"
#include "bench/watchers.hpp"

namespace {

namespace bench = lastref::bench;
using bench::Measured;
using bench::Notification;

/// Calls per round, kept small: the shorter a round is, the more rounds are undisturbed.
constexpr std::size_t calls_that_stop = 1000;
constexpr std::size_t calls_that_trace_stops = 400;
constexpr std::size_t calls_that_run = 10'000;
constexpr std::size_t quick_calls_that_run = 100'000;

struct Way {
  std::string counter;
  bench::Watcher watcher = nullptr;
  std::size_t count = 0;
  bool is_instead = false;  ///< an alternative to the warden, and not a part of its cost
};
using Ways = std::vector<Way>;

/// Runs all iterations of a row. The label names the ways that gave no result.
void compare(benchmark::State& state, const Measured& what, const Ways& ways) {
  const auto of_a_round = static_cast<benchmark::IterationCount>(what.count);
  double ours = std::numeric_limits<double>::infinity();
  std::map<std::string, double> others;
  while (state.KeepRunningBatch(of_a_round)) {
    const auto each = bench::with_warden(what);
    if (!each) {
      state.SkipWithError("the program cannot be watched");
      return;
    }
    state.SetIterationTime(*each * static_cast<double>(what.count));
    ours = std::min(ours, *each);
    for (const Way& way : ways) {
      const auto other =
          way.watcher({.call = what.call, .count = way.count, .watched = what.watched});
      if (other) {
        const auto known = others.try_emplace(way.counter, *other).first;
        known->second = std::min(known->second, *other);
      }
    }
  }
  std::string missing;
  for (const Way& way : ways) {
    if (const auto other = others.find(way.counter); other == others.end()) {
      missing += (missing.empty() ? "without " : ", ") + way.counter;
    } else {
      state.counters[way.counter] = way.is_instead ? other->second / ours : ours / other->second;
    }
  }
  state.SetLabel(missing);
}

/// The warden and each of the others watch the call.
void watched(benchmark::State& state, const std::string& name) {
  compare(
      state,
      {.call = bench::measured_call_named(name), .count = calls_that_stop},
      {{"beside_bare", bench::with_bare_notification, calls_that_stop},
       {"beside_native", bench::with_nobody, calls_that_run},
       {"ptrace_takes", bench::with_ptrace, calls_that_trace_stops, true},
       {"strace_takes", bench::with_strace, calls_that_trace_stops, true},
       {"strace_seccomp_bpf_takes", bench::with_strace_and_filter, calls_that_trace_stops, true}});
}

/// Another call is watched: this is the cost for the rest of a program.
void not_watched(benchmark::State& state, const std::string& name) {
  compare(
      state,
      {.call = bench::measured_call_named(name),
       .count = quick_calls_that_run,
       .watched = bench::measured_call_named("flock")},
      {{"beside_filter", bench::with_a_filter, quick_calls_that_run},
       {"beside_native", bench::with_nobody, quick_calls_that_run},
       {"ptrace_takes", bench::with_ptrace, calls_that_trace_stops, true},
       {"strace_takes", bench::with_strace, calls_that_trace_stops, true},
       {"strace_seccomp_bpf_takes", bench::with_strace_and_filter, quick_calls_that_run, true}});
}

}  // namespace

int main(int argc, char** argv) {
  if (bench::makes_calls(std::span(argv, static_cast<std::size_t>(argc)))) {
    return 0;
  }
  const Notification notification = bench::notification_here();
  if (notification == Notification::none) {
    std::puts("This machine has no seccomp user notification, so there is nothing to measure.");
    return 0;
  }
  BENCHMARK_CAPTURE(watched, flock_without_a_name, "flock")->UseManualTime();
  BENCHMARK_CAPTURE(watched, unlink_of_what_is_not_there, "unlink")->UseManualTime();
  BENCHMARK_CAPTURE(watched, openat_with_a_name, "openat")->UseManualTime();
  BENCHMARK_CAPTURE(watched, openat_below_working_folder, "openat_below")->UseManualTime();
  BENCHMARK_CAPTURE(watched, mkdir_with_a_name_to_be, "mkdir")->UseManualTime();
  BENCHMARK_CAPTURE(watched, rename_with_two_names, "rename")->UseManualTime();
  BENCHMARK_CAPTURE(not_watched, getppid, "getppid")->UseManualTime();
  utsname kernel{};
  ::uname(&kernel);
  benchmark::AddCustomContext("kernel", kernel.release);
  benchmark::AddCustomContext(
      "caller_and_supervisor",
      notification == Notification::in_turn ? "in turn on one processor" : "on two processors");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
