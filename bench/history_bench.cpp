// history_bench: the cost of judging a history and of recording one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <benchmark/benchmark.h>

#include "harness/history/history.hpp"
#include "harness/history/history_log.hpp"
#include "harness/journal/journal.hpp"

namespace lastref::harness::oracle {
namespace {

constexpr std::uint64_t actors = 8;
constexpr std::uint64_t slots = 1000;

/// A valid history: half gets, half puts, of any slot. Each operation returns at its own moment. As
/// many are in progress at a time as there are actors.
History history_of(std::size_t count) {
  std::mt19937_64 chance(1);
  History history;
  for (std::uint64_t actor = 0; actor < actors; ++actor) {
    std::string name("worker_");
    history.actors.push_back(name.append(std::to_string(actor)));
  }
  std::unordered_map<std::uint64_t, std::uint64_t> values;
  for (std::uint64_t at = 0; at < count; ++at) {
    Operation operation{.slot = chance() % slots,
                        .invoked = at * 2,
                        .returned = (at + actors) * 2,
                        .actor = static_cast<std::uint32_t>(at % actors)};
    const auto found = values.find(operation.slot);
    if (chance() % 2 == 0) {
      operation.ending = found == values.end() ? Ending::nothing : Ending::value;
      operation.value = found == values.end() ? 0 : found->second;
    } else {
      operation.kind = OperationKind::put;
      operation.value = chance();
      const bool takes = values.try_emplace(operation.slot, operation.value).second;
      operation.ending = takes ? Ending::yes : Ending::no;
    }
    history.operations.push_back(operation);
  }
  return history;
}

/// Grows with the number of operations, which are the items.
void linearizable(benchmark::State& state) {
  const History history = history_of(static_cast<std::size_t>(state.range(0)));
  for ([[maybe_unused]] auto iteration : state) {
    const std::vector<Finding> findings = oracle::linearizable(history);
    if (!findings.empty()) {
      state.SkipWithError("a lawful history has findings");
      return;
    }
  }
  state.SetComplexityN(state.range(0));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(linearizable)
    ->RangeMultiplier(10)
    ->Range(10'000, 1'000'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oN);

constexpr std::uint32_t log_space = 1U << 16U;

std::span<std::byte> log_memory() {
  static const SharedMemory memory(HistoryLog::size_for(log_space));
  return {static_cast<std::byte*>(memory.get()), HistoryLog::size_for(log_space)};
}

void empty_log(const benchmark::State&) {
  std::ranges::fill(log_memory(), std::byte{0});
}

/// An invocation and a return, by several threads at once.
void history_log_operation(benchmark::State& state) {
  HistoryLog log(log_memory());
  const std::string actor = "worker_" + std::to_string(state.thread_index());
  for ([[maybe_unused]] auto iteration : state) {
    log.invoke({.actor = actor, .kind = OperationKind::get, .slot = 3, .value = 0}).saw(7);
  }
  if (state.thread_index() == 0 && !log.history(Refusals::when_frozen)) {
    state.SkipWithError("the log is full");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(history_log_operation)
    ->Setup(empty_log)
    ->Threads(1)
    ->Threads(2)
    ->Iterations(30'000)
    ->UseRealTime();

}  // namespace
}  // namespace lastref::harness::oracle
