// The cost of tasks in each backend, compared with joblib's backends and bare pipes between two
// processes.
//
// Each row has two jobs, and tasks that do nothing. Its counters are our tasks per second, and the
// times of the others as multiples of ours, as ratios of medians. Compare these ratios. The others
// are measured between our own iterations, about seven times.
//
// This program is its own worker, so it has a main of its own.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include <lastref/parallel.hpp>
#include <lastref/typed_function.hpp>
#include <lastref/worker.hpp>

#include "bench/comparison.hpp"
#include "bench/noop_tasks.hpp"
#include "bench/other_process.hpp"
#include "bench/processors.hpp"
#include "bench/shm_folder.hpp"
#include "bench/times.hpp"
#include "bench/tree.hpp"
#include "bench/two_tasks.hpp"

namespace {

using lastref::BackendKind;
using lastref::Parallel;
using lastref::Result;
using lastref::Value;
using lastref::bench::compare;
using lastref::bench::Measure;
using lastref::bench::on_one_processor;
using lastref::bench::OtherProcess;
using lastref::bench::Others;
using lastref::bench::run_noop_list;
using lastref::bench::run_noops;
using lastref::bench::seconds;
using lastref::bench::Tree;

constexpr unsigned two_jobs = 2;

/// Writes its process ID to the FIFO, and waits to be killed.
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
    auto made = std::make_shared<lastref::Functions>(*lastref::typed_functions());
    lastref::bench::add_noop(*made);
    const lastref::Status added = made->add("say_and_wait", say_and_wait);
    LASTREF_ASSERT(added.has_value());
    return made;
  }();
  return all;
}

/// The processes of the others. Each is started at its first use.
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

/// A time measured by joblib_backends.py.
Measure asks_joblib(const std::string& question) {
  return [question]() -> std::optional<double> {
    const auto answer = joblib().ask(question);
    return answer ? std::optional(std::strtod(answer->c_str(), nullptr)) : std::nullopt;
  };
}

/// The joblib backends of the same kind; for our processes also loky.
Others others_of(BackendKind kind, const std::string& what, const std::string& count = {}) {
  const auto ask = [&](const std::string& backend) {
    return asks_joblib(what + ' ' + backend + ' ' + count);
  };
  switch (kind) {
    case BackendKind::processes:
      return {.seldom = {{"loky", ask("loky")}, {"multiprocessing", ask("multiprocessing")}}};
    case BackendKind::threads:
      return {.seldom = {{"threading", ask("threading")}}};
    case BackendKind::sequential:
      return {.seldom = {{"sequential", ask("sequential")}}};
  }
  LASTREF_ASSERT(false);
}

/// Calls with state.range(0) tasks, with running workers.
void warm_calls(benchmark::State& state,
                BackendKind kind,
                std::optional<std::size_t> batch_size,
                const std::string& what,
                lastref::Outcome<lastref::List> (*run)(Parallel&, std::int64_t) = &run_noops) {
  Tree tree(lastref::this_program);
  if (!tree.ready(state)) {
    return;
  }
  Parallel parallel(
      tree.session(), functions(), {.n_jobs = two_jobs, .backend = kind, .batch_size = batch_size});
  for (int call = 0; call < 3; ++call) {  // After that the batch size is settled.
    static_cast<void>(run_noops(parallel, 1000));
  }
  const auto count = state.range(0);
  Others others = others_of(kind, what, std::to_string(count));
  if (kind == BackendKind::processes && batch_size == std::size_t{1}) {
    others.seldom["pipe"] = [count] {
      return seconds([&] { echo().ping_pong(static_cast<std::size_t>(count)); });
    };
  }
  const auto ours = [&]() -> std::optional<double> {
    bool has_results = false;
    const double spent = seconds([&] { has_results = run(parallel, count).has_value(); });
    return has_results ? std::optional(spent) : std::nullopt;
  };
  const double median = compare(state, ours, others);
  state.counters["tasks/s"] = static_cast<double>(count) / median;
}

/// Grows with the number of tasks: each task is one message to the worker and one back.
void one_task_a_message(benchmark::State& state, BackendKind kind) {
  warm_calls(state, kind, 1, "each", &run_noop_list);
}

/// The same, where the caller asks a source for each task.
void one_task_a_message_from_a_source(benchmark::State& state, BackendKind kind) {
  warm_calls(state, kind, 1, "each");
}

/// In the caller, batches have one task.
void automatic_batches(benchmark::State& state, BackendKind kind) {
  warm_calls(state, kind, std::nullopt, "auto");
}

void a_warm_call_of_two_tasks(benchmark::State& state, BackendKind kind) {
  warm_calls(state, kind, 1, "warm");
}

/// From no worker, through the results of two tasks, to no worker.
void start_up(benchmark::State& state, BackendKind kind) {
  Tree tree(lastref::this_program);
  if (!tree.ready(state)) {
    return;
  }
  const auto ours = [&] {
    return seconds([&] {
      Parallel parallel(tree.session(), functions(), {.n_jobs = two_jobs, .backend = kind});
      static_cast<void>(run_noops(parallel, 2));
    });
  };
  state.counters["tasks/s"] = 2 / compare(state, ours, others_of(kind, "start"));
}

/// From the SIGKILL of a busy worker until the caller gets the error. By then the call has been
/// cleaned up completely.
void a_worker_is_killed(benchmark::State& state) {
  Tree tree(lastref::this_program);
  const std::string path = tree.file("/fifo").name;
  if (!tree.ready(state) || ::mkfifo(path.c_str(), 0600) != 0) {
    return;
  }
  Parallel parallel(tree.session(), functions(), {.n_jobs = two_jobs, .batch_size = 1});
  const auto ours = [&]() -> std::optional<double> {
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
      return std::nullopt;  // A killed worker must not have results.
    }
    return std::chrono::duration<double>(told - killed).count();
  };
  const double median = compare(state, ours, {.seldom = {{"loky", asks_joblib("killed loky")}}});
  ::unlink(path.c_str());
  state.counters["tasks/s"] = 1 / median;
}

BENCHMARK_CAPTURE(one_task_a_message, processes, BackendKind::processes)
    ->Arg(10'000)
    ->UseManualTime();
BENCHMARK_CAPTURE(one_task_a_message, threads, BackendKind::threads)->Arg(10'000)->UseManualTime();
BENCHMARK_CAPTURE(one_task_a_message, sequential, BackendKind::sequential)
    ->Arg(10'000)
    ->UseManualTime();
BENCHMARK_CAPTURE(one_task_a_message_from_a_source, processes, BackendKind::processes)
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

/// The benchmark `of` in processes that share a processor with their caller.
template <void (*of)(benchmark::State&, BackendKind)>
void of_processes(benchmark::State& state) {
  of(state, BackendKind::processes);
}
BENCHMARK_CAPTURE(on_one_processor, one_task_a_message, of_processes<one_task_a_message>)
    ->Arg(10'000)
    ->UseManualTime();
BENCHMARK_CAPTURE(on_one_processor, a_warm_call, of_processes<a_warm_call_of_two_tasks>)
    ->Arg(2)
    ->UseManualTime();
BENCHMARK_CAPTURE(on_one_processor, start_up, of_processes<start_up>)->UseManualTime();
BENCHMARK_CAPTURE(on_one_processor, a_worker_is_killed, a_worker_is_killed)->UseManualTime();

}  // namespace

int main(int argc, char** argv) try {
  lastref::os::KernelOs os({.program = lastref::this_program});
  const std::vector<std::string> arguments(argv, argv + argc);
  if (const auto code = lastref::run_if_spawned(os, *functions(), arguments)) {
    return *code;
  }
  if (const auto code = lastref::bench::run_two_tasks(arguments)) {
    return *code;
  }
  lastref::bench::slowness();  // Ends this program here if a variable is invalid.
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  lastref::bench::remove_what_killed_benches_left();
  const std::size_t matched = benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return matched > 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "lastref_bench: " << error.what() << '\n';
  return 1;
}
