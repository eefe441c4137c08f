#include "bench/comparison.hpp"

#include <algorithm>

#include <lastref/kernel_os.hpp>

#include "bench/times.hpp"

namespace lastref::bench {
namespace {

using AllTimes = std::map<std::string, Times>;

void measure_each(const Measures& measures, AllTimes& times) {
  for (const auto& [name, measure] : measures) {
    Times& known = times[name];
    if (const std::optional<double> spent = measure()) {
      known.add(*spent);
    }
  }
}

}  // namespace

bool with_peers() {
  static const bool are_wanted =
      os::KernelOs().environment("LASTREF_BENCH_WITHOUT_PEERS").value_or("0") == "0";
  return are_wanted;
}

double compare(benchmark::State& state, const Measure& ours, const Others& others) {
  constexpr benchmark::IterationCount looks_max = 7;
  const auto every = std::max<benchmark::IterationCount>(state.max_iterations / looks_max, 1);
  benchmark::IterationCount iterations = 0;
  Times all_ours;
  AllTimes all;
  for (auto _ : state) {
    const std::optional<double> spent = ours();
    if (!spent) {
      state.SkipWithError("could not be done");
      return 0;
    }
    state.SetIterationTime(*spent);
    all_ours.add(*spent);
    if (!with_peers()) {
      continue;
    }
    measure_each(others.always, all);
    if (iterations++ % every == 0) {
      measure_each(others.seldom, all);
    }
  }
  const double median = all_ours.median();
  state.counters["spread"] = all_ours.spread();
  std::string missing;
  for (auto& [name, times] : all) {
    if (const double median_of_other = times.median(); median_of_other > 0) {
      state.counters[name] = median_of_other / median;
    } else {
      missing += (missing.empty() ? "without " : ", ") + name;
    }
  }
  if (!missing.empty()) {
    state.SetLabel(missing);
  }
  return median;
}

}  // namespace lastref::bench
