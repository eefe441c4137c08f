// How the time of an operation grows with its size: names, slots, tasks, bytes, processes.
//
// There is one row per operation and size, with a manual time for the whole; `each` is the time of
// one item in seconds. `lastref perf growth` fits exponents to these rows.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <lastref/parallel.hpp>
#include <lastref/reducers.hpp>
#include <lastref/worker.hpp>

#include "bench/cache_keepers.hpp"
#include "bench/noop_tasks.hpp"
#include "bench/shm_folder.hpp"
#include "bench/times.hpp"
#include "bench/tree.hpp"

namespace {

using lastref::Resource;
using lastref::bench::OurCache;
using lastref::bench::run_noops;
using lastref::bench::seconds;
using lastref::bench::ShmFolder;
using lastref::bench::Slots;
using lastref::bench::Times;
using lastref::bench::Tree;

/// Runs all iterations of a row. The row has an error if `measure` fails.
template <typename Measure>
void measure_all(benchmark::State& state, Measure measure) {
  Times times;
  for (auto _ : state) {
    const std::optional<double> spent = measure();
    if (!spent) {
      state.SkipWithError("could not be done");
      return;
    }
    times.add(*spent);
    state.SetIterationTime(*spent);
  }
  state.counters["each"] = times.median() / static_cast<double>(state.range(0));
}

std::vector<Resource> names_in(const Tree& tree, std::int64_t count) {
  std::vector<Resource> names;
  for (std::int64_t number = 0; number < count; ++number) {
    names.push_back(tree.file("/name-" + std::to_string(number)));
  }
  return names;
}

/// Registers state.range(0) names. The tracker has all of them when it answers the probe.
void register_names(benchmark::State& state) {
  Tree tree;
  if (!tree.ready(state)) {
    return;
  }
  const std::vector<Resource> names = names_in(tree, state.range(0));
  measure_all(state, [&]() -> std::optional<double> {
    bool is_done = true;
    const double spent = seconds([&] {
      for (const Resource& name : names) {
        is_done = tree.client().register_name(name).has_value() && is_done;
      }
      is_done = tree.client().probe().has_value() && is_done;
    });
    for (const Resource& name : names) {
      static_cast<void>(tree.client().release(name));
    }
    static_cast<void>(tree.client().probe());
    return is_done ? std::optional(spent) : std::nullopt;
  });
}

/// Releases the last references of state.range(0) files, until the last file is removed.
void release_files(benchmark::State& state) {
  Tree tree;
  if (!tree.ready(state)) {
    return;
  }
  const std::vector<Resource> names = names_in(tree, state.range(0));
  measure_all(state, [&]() -> std::optional<double> {
    for (const Resource& name : names) {
      static_cast<void>(tree.client().register_name(name));
      ::close(::open(name.name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
    }
    static_cast<void>(tree.client().probe());
    return seconds([&] {
      for (const Resource& name : names) {
        static_cast<void>(tree.client().release(name));
      }
      while (::access(names.back().name.c_str(), F_OK) == 0) {
      }
    });
  });
}

/// The time of a hold or release message while state.range(0) other names are held.
void hold_among_names(benchmark::State& state) {
  constexpr int rounds = 1000;
  Tree tree;
  if (!tree.ready(state)) {
    return;
  }
  const std::vector<Resource> names = names_in(tree, state.range(0));
  for (const Resource& name : names) {
    static_cast<void>(tree.client().register_name(name));
  }
  static_cast<void>(tree.client().probe());
  Times times;
  for (auto _ : state) {
    const double spent = seconds([&] {
      for (int round = 0; round < rounds; ++round) {
        const Resource& name = names[static_cast<std::size_t>(round) % names.size()];
        static_cast<void>(tree.client().hold(name));
        static_cast<void>(tree.client().release(name));
      }
      static_cast<void>(tree.client().probe());
    });
    times.add(spent);
    state.SetIterationTime(spent);
  }
  state.counters["each"] = times.median() / rounds;
  for (const Resource& name : names) {
    static_cast<void>(tree.client().release(name));
  }
}

std::vector<std::uint64_t> slots_of(std::int64_t count) {
  std::vector<std::uint64_t> slots(static_cast<std::size_t>(count));
  std::iota(slots.begin(), slots.end(), 0);
  return slots;
}

constexpr std::size_t value_size = 100;  // bytes

void make_a_cache(benchmark::State& state) {
  Tree tree;
  if (!tree.ready(state)) {
    return;
  }
  const auto references = lastref::references_of(tree.shared_client());
  const auto count = static_cast<std::uint64_t>(state.range(0));
  measure_all(state, [&]() -> std::optional<double> {
    const ShmFolder folder;
    return seconds(
        [&] { OurCache(tree.os(), references, folder, {.slots = count, .size = value_size}); });
  });
}

void put_in_slots(benchmark::State& state) {
  Tree tree;
  if (!tree.ready(state)) {
    return;
  }
  const auto references = lastref::references_of(tree.shared_client());
  const std::vector<std::uint64_t> slots = slots_of(state.range(0));
  measure_all(state, [&]() -> std::optional<double> {
    const ShmFolder folder;
    OurCache cache(tree.os(), references, folder, {.slots = slots.size(), .size = value_size});
    bool is_done = false;
    const double spent = seconds([&] { is_done = cache.put_all(slots); });
    return is_done ? std::optional(spent) : std::nullopt;
  });
}

void get_of_slots(benchmark::State& state) {
  Tree tree;
  if (!tree.ready(state)) {
    return;
  }
  const auto references = lastref::references_of(tree.shared_client());
  const std::vector<std::uint64_t> slots = slots_of(state.range(0));
  const ShmFolder folder;
  OurCache cache(tree.os(), references, folder, {.slots = slots.size(), .size = value_size});
  const bool is_filled = cache.put_all(slots);
  measure_all(state, [&]() -> std::optional<double> {
    bool is_done = false;
    const double spent = seconds([&] { is_done = is_filled && cache.copy_all(slots); });
    return is_done ? std::optional(spent) : std::nullopt;
  });
}

/// Writes a new array of state.range(0) bytes to a file.
void reduce_bytes(benchmark::State& state) {
  Tree tree;
  if (!tree.ready(state)) {
    return;
  }
  const auto references = lastref::references_of(tree.shared_client());
  auto resources = std::shared_ptr(
      lastref::TemporaryResources::make(tree.os(), references, {.root = "/dev/shm"}).value());
  lastref::ForwardReducer reducer(tree.os(), references, resources, {.max_nbytes = 1});
  const auto size = static_cast<std::uint64_t>(state.range(0));
  const auto memory = lastref::Memory::uninitialized(size).value();
  std::ranges::fill(memory->bytes(), std::byte{1});
  const lastref::DType bytes = lastref::DType::parse("|u1").value();
  measure_all(state, [&]() -> std::optional<double> {
    const auto array = lastref::Array::over(memory, {.dtype = bytes, .shape = {size}}).value();
    bool is_done = false;
    const double spent = seconds([&] { is_done = reducer.reduce(array).has_value(); });
    static_cast<void>(reducer.invalidate(array));
    static_cast<void>(tree.client().probe());
    return is_done ? std::optional(spent) : std::nullopt;
  });
}

/// Workers run this program as well, so its main also has this function.
std::shared_ptr<const lastref::Functions> nothing() {
  auto functions = std::make_shared<lastref::Functions>();
  lastref::bench::add_noop(*functions);
  return functions;
}

/// One call with state.range(0) tasks that do nothing, in two running processes.
void call_tasks(benchmark::State& state) {
  constexpr std::int64_t warm_up = 1000;
  Tree tree(lastref::this_program);
  if (!tree.ready(state)) {
    return;
  }
  lastref::Parallel parallel(tree.session(), nothing(), {.n_jobs = 2});
  const bool is_warm = run_noops(parallel, warm_up).has_value();
  measure_all(state, [&]() -> std::optional<double> {
    bool is_done = false;
    const double spent =
        seconds([&] { is_done = is_warm && run_noops(parallel, state.range(0)).has_value(); });
    return is_done ? std::optional(spent) : std::nullopt;
  });
}

/// A pool of state.range(0) processes, from its start through one task each to its end.
void start_processes(benchmark::State& state) {
  Tree tree(lastref::this_program);
  if (!tree.ready(state)) {
    return;
  }
  measure_all(state, [&]() -> std::optional<double> {
    bool is_done = false;
    const double spent = seconds([&] {
      lastref::Parallel parallel(
          tree.session(),
          nothing(),
          {.n_jobs = static_cast<unsigned>(state.range(0)), .batch_size = 1});
      is_done = run_noops(parallel, state.range(0)).has_value();
    });
    return is_done ? std::optional(spent) : std::nullopt;
  });
}

constexpr std::int64_t ten = 10;
constexpr std::int64_t thousand = 1000;
constexpr std::int64_t hundred_thousand = 100'000;
constexpr std::int64_t million = 1'000'000;

#define SCALING(operation, unit, ...)              \
  BENCHMARK_CAPTURE(scaling, operation, operation) \
      ->ArgName(unit)                              \
      ->ArgsProduct({__VA_ARGS__})                 \
      ->UseManualTime()

void scaling(benchmark::State& state, void (*operation)(benchmark::State&)) {
  operation(state);
}

SCALING(register_names, "names", {ten, thousand, hundred_thousand});
SCALING(release_files, "names", {ten, thousand, hundred_thousand});
SCALING(hold_among_names, "names", {ten, thousand, hundred_thousand});
SCALING(make_a_cache, "slots", {ten, thousand, hundred_thousand, million});
SCALING(put_in_slots, "slots", {ten, thousand, hundred_thousand, million});
SCALING(get_of_slots, "slots", {ten, thousand, hundred_thousand, million});
SCALING(reduce_bytes, "bytes", {thousand, hundred_thousand, million, 100 * million});
SCALING(call_tasks, "tasks", {ten, thousand, hundred_thousand, million});
SCALING(start_processes, "processes", {2, 4, 8, 16, 32});

}  // namespace
