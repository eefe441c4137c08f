// registry_bench: the cost of reference counting, without messages and system calls.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/slowed_os.hpp"
#include "impl/tracker/registry.hpp"

namespace lastref::tracker {
namespace {

std::vector<Resource> names(std::size_t count) {
  std::vector<Resource> resources;
  for (std::size_t i = 0; i < count; ++i) {
    resources.push_back({.type = ResourceType::file, .name = "/tmp/" + std::to_string(i)});
  }
  return resources;
}

/// Holds and releases one of many names: grows with the logarithm of the number of names.
void registry_hold_and_release(benchmark::State& state) {
  const std::vector<Resource> resources = names(static_cast<std::size_t>(state.range(0)));
  Registry registry;
  for (const Resource& resource : resources) {
    registry.add(1, resource);
  }
  std::size_t next = 0;
  const bench::Slowness& slow = bench::slowness();
  for ([[maybe_unused]] auto iteration : state) {
    const Resource& resource = resources[next];
    registry.add(2, resource);
    benchmark::DoNotOptimize(registry.release(2, resource));
    next = (next + 1) % resources.size();
    bench::spin_in_body(slow);
  }
  state.SetComplexityN(state.range(0));
  state.SetItemsProcessed(state.iterations() * 2);
}
BENCHMARK(registry_hold_and_release)->RangeMultiplier(8)->Range(8, 8 << 12)->Complexity();

/// The death of the only holder of all names: grows with the number of names.
void registry_drop(benchmark::State& state) {
  const bench::Slowness& slow = bench::slowness();
  const std::vector<Resource> resources = names(static_cast<std::size_t>(state.range(0)));
  for ([[maybe_unused]] auto iteration : state) {
    state.PauseTiming();
    Registry registry;
    for (const Resource& resource : resources) {
      registry.add(1, resource);
    }
    state.ResumeTiming();
    benchmark::DoNotOptimize(registry.drop(1));
    benchmark::DoNotOptimize(registry.take_doomed(registry.now()));
    bench::spin_in_body(slow);
  }
  state.SetComplexityN(state.range(0));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(registry_drop)->RangeMultiplier(8)->Range(8, 8 << 9)->Complexity();

}  // namespace
}  // namespace lastref::tracker
