// What tasks cost in each backend, beside joblib's backends and the bare pipes of two processes.
//
// Each row has two jobs, and tasks that do nothing. Its counters are our tasks a second, and how
// many times as long the others take for the same, as ratios of medians: that is what to compare.
// The others are measured between our own iterations, some seven times.
//
// This program is its own worker, so it has a main of its own.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include <lastref/parallel.hpp>
#include <lastref/worker.hpp>

#include "bench/other_process.hpp"
#include "bench/times.hpp"
#include "bench/tree.hpp"

namespace {

using lastref::BackendKind;
using lastref::Parallel;
using lastref::Result;
using lastref::Value;
using lastref::bench::OtherProcess;
using lastref::bench::seconds;
using lastref::bench::Times;
using lastref::bench::Tree;

constexpr unsigned two_jobs = 2;

/// Tells whoever reads the FIFO who it is, and waits to be killed.
Result<Value> say_and_wait(const lastref::TaskContext&, std::span<const Value> arguments) {
  LASTREF_TRY(path, arguments[0].as<std::string>());
  const pid_t self = ::getpid();
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  benchmark::DoNotOptimize(::write(fd, &self, sizeof self));
  for (;;) {
    ::pause();
  }
}

const std::shared_ptr<const lastref::Functions>& functions() {
  static const std::shared_ptr<const lastref::Functions> all = [] {
    auto made = std::make_shared<lastref::Functions>();
    made->add("nothing", [](const auto&, auto) { return Value(); });
    made->add("say_and_wait", say_and_wait);
    return made;
  }();
  return all;
}

/// The others. Neither is there if nobody asks.
OtherProcess& joblib() {
  static OtherProcess python({LASTREF_PYTHON, LASTREF_JOBLIB_BACKENDS});
  return python;
}

OtherProcess& echo() {
  static OtherProcess child([](int from, int to) {
    for (char byte = 0; ::read(from, &byte, 1) == 1;) {
      benchmark::DoNotOptimize(::write(to, &byte, 1));
    }
  });
  return child;
}

/// Who takes how long: what stands in the table, and what joblib_backends.py is asked.
using Questions = std::map<std::string, std::string>;

class Comparison {
 public:
  Comparison(benchmark::State& state, Questions questions, std::size_t round_trips = 0)
      : state_(state), questions_(std::move(questions)), round_trips_(round_trips) {}

  /// One iteration.
  void add(double ours) {
    constexpr benchmark::IterationCount looks_max = 7;
    state_.SetIterationTime(ours);
    ours_.add(ours);
    if (iterations_++ % std::max<benchmark::IterationCount>(state_.max_iterations / looks_max, 1) !=
        0) {
      return;
    }
    for (const auto& [name, question] : questions_) {
      if (const auto answer = joblib().ask(question)) {
        others_[name].add(std::strtod(answer->c_str(), nullptr));
      }
    }
    if (round_trips_ > 0) {
      others_["pipe"].add(seconds([&] { echo().ping_pong(round_trips_); }));
    }
  }

  void finish(std::int64_t tasks) {
    const double median = ours_.median();
    for (auto& [name, times] : others_) {
      state_.counters[name] = times.median() / median;
    }
    state_.counters["tasks/s"] = static_cast<double>(tasks) / median;
  }

 private:
  benchmark::State& state_;
  Questions questions_;
  std::size_t round_trips_;
  benchmark::IterationCount iterations_ = 0;
  Times ours_;
  std::map<std::string, Times> others_;
};

lastref::Outcome<lastref::List> run(Parallel& parallel, std::int64_t tasks) {
  return parallel.run([&, left = tasks]() mutable -> std::optional<lastref::Task> {
    return left-- > 0 ? std::optional(lastref::Task{"nothing"}) : std::nullopt;
  });
}

/// What joblib calls them; loky beside our processes too.
Questions questions_for(BackendKind kind, const std::string& what, const std::string& count = {}) {
  const auto ask = [&](const std::string& backend) { return what + ' ' + backend + ' ' + count; };
  switch (kind) {
    case BackendKind::processes:
      return {{"loky", ask("loky")}, {"multiprocessing", ask("multiprocessing")}};
    case BackendKind::threads:
      return {{"threading", ask("threading")}};
    case BackendKind::sequential:
      return {{"sequential", ask("sequential")}};
  }
  LASTREF_ASSERT(false);
}

/// Calls of so many tasks, with workers that are there.
void warm_calls(benchmark::State& state,
                BackendKind kind,
                std::optional<std::size_t> batch_size,
                const std::string& what) {
  Tree tree(lastref::this_program);
  if (!tree.ready(state)) {
    return;
  }
  Parallel parallel(
      tree.session(), functions(), {.n_jobs = two_jobs, .backend = kind, .batch_size = batch_size});
  for (int call = 0; call < 3; ++call) {  // The size of batches has been found after that.
    static_cast<void>(run(parallel, 1000));
  }
  const auto count = state.range(0);
  const bool crosses = kind == BackendKind::processes && batch_size == std::size_t{1};
  Comparison comparison(state,
                        questions_for(kind, what, std::to_string(count)),
                        crosses ? static_cast<std::size_t>(count) : 0);
  for (auto _ : state) {
    comparison.add(seconds([&] {
      if (!run(parallel, count)) {
        state.SkipWithError("no results");
      }
    }));
  }
  comparison.finish(count);
}

/// Grows with the number of tasks: each is a message there and a message back.
void one_task_a_message(benchmark::State& state, BackendKind kind) {
  warm_calls(state, kind, 1, "each");
}

/// Of threads, and in the caller, batches are of one task.
void automatic_batches(benchmark::State& state, BackendKind kind) {
  warm_calls(state, kind, std::nullopt, "auto");
}

void a_warm_call_of_two_tasks(benchmark::State& state, BackendKind kind) {
  warm_calls(state, kind, 1, "warm");
}

/// From no worker, over the results of two tasks, to no worker.
void start_up(benchmark::State& state, BackendKind kind) {
  Tree tree(lastref::this_program);
  if (!tree.ready(state)) {
    return;
  }
  Comparison comparison(state, questions_for(kind, "start"));
  for (auto _ : state) {
    comparison.add(seconds([&] {
      Parallel parallel(tree.session(), functions(), {.n_jobs = two_jobs, .backend = kind});
      static_cast<void>(run(parallel, 2));
    }));
  }
  comparison.finish(2);
}

/// From the SIGKILL of a busy worker to the error in the hands of the caller, when all that was of
/// the call is gone.
void a_worker_is_killed(benchmark::State& state) {
  Tree tree(lastref::this_program);
  const std::string path = tree.file("/fifo").name;
  if (!tree.ready(state) || ::mkfifo(path.c_str(), 0600) != 0) {
    return;
  }
  Parallel parallel(tree.session(), functions(), {.n_jobs = two_jobs, .batch_size = 1});
  Comparison comparison(state, {{"loky", "killed loky"}});
  for (auto _ : state) {
    std::chrono::steady_clock::time_point killed;
    std::thread killer([&] {
      pid_t worker = 0;
      const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      const bool known = ::read(fd, &worker, sizeof worker) == sizeof worker;
      ::close(fd);
      killed = std::chrono::steady_clock::now();
      if (known) {
        ::kill(worker, SIGKILL);
      }
    });
    const auto outcome = parallel.run(std::vector{lastref::Task{"say_and_wait", {path}}});
    const auto told = std::chrono::steady_clock::now();
    killer.join();
    if (outcome) {
      state.SkipWithError("a dead worker had results");
      break;
    }
    comparison.add(std::chrono::duration<double>(told - killed).count());
  }
  ::unlink(path.c_str());
  comparison.finish(1);
}

BENCHMARK_CAPTURE(one_task_a_message, processes, BackendKind::processes)
    ->Arg(10'000)
    ->UseManualTime();
BENCHMARK_CAPTURE(one_task_a_message, threads, BackendKind::threads)->Arg(10'000)->UseManualTime();
BENCHMARK_CAPTURE(one_task_a_message, sequential, BackendKind::sequential)
    ->Arg(10'000)
    ->UseManualTime();
BENCHMARK_CAPTURE(automatic_batches, processes, BackendKind::processes)
    ->Arg(10'000)
    ->Arg(100'000)
    ->UseManualTime();
BENCHMARK_CAPTURE(start_up, processes, BackendKind::processes)->UseManualTime();
BENCHMARK_CAPTURE(start_up, threads, BackendKind::threads)->UseManualTime();
BENCHMARK_CAPTURE(a_warm_call_of_two_tasks, processes, BackendKind::processes)
    ->Arg(2)
    ->UseManualTime();
BENCHMARK_CAPTURE(a_warm_call_of_two_tasks, threads, BackendKind::threads)->Arg(2)->UseManualTime();
BENCHMARK(a_worker_is_killed)->UseManualTime();

}  // namespace

int main(int argc, char** argv) {
  lastref::os::KernelOs os({.program = lastref::this_program});
  const std::vector<std::string> arguments(argv, argv + argc);
  if (const auto code = lastref::run_if_spawned(os, *functions(), arguments)) {
    return *code;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
