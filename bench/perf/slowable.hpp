// Slowable: a benchmark that can be slowed by a chosen amount, for the self-test.
//
// The program spins after each crossing of one call of the Os seam, or in the benchmark's body if
// that makes no calls; see bench/slowed_os.hpp. A calibration measures how much longer the
// benchmark takes for a number of turns of the loop.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "bench/perf/benchmark_program.hpp"
#include "bench/perf/paired_runs.hpp"

namespace lastref::perf {

enum class Clock : std::uint8_t { counting, processor };

/// A place where turns can be spent, and the part of the time that one turn adds.
struct SlowPlace {
  std::string name;
  double part_of_a_turn = 0;
};

class Slowable {
 public:
  Slowable(BenchmarkOptions options, std::string name)
      : options_(std::move(options)), name_(std::move(name)) {}

  const std::string& name() const noexcept { return name_; }
  Clock clock() const noexcept { return clock_; }

  /// Measures the benchmark against itself in `pairs` pairs. Chooses the clock that counts if its
  /// pairs differ by at most `spread_max`, else processor time if its pairs do. Returns the spread
  /// of the pairs: the standard deviation that the logarithm of their ratio would have if it were
  /// normal. Nothing: both differ by too much.
  tl::expected<std::optional<double>, std::string> listen(std::size_t pairs, double spread_max);

  /// Chooses a random place that each iteration passes and where time is measured, and measures the
  /// cost of a turn there. Nothing: a turn costs nothing at any of the places tried.
  tl::expected<std::optional<SlowPlace>, std::string> find_place(std::size_t pairs,
                                                                 std::mt19937_64& chance);

  /// A is unchanged; B takes 1 + `slower` times as long.
  MeasureOnce measure(const SlowPlace& place, double slower) const;

 private:
  struct Counted {
    std::vector<std::pair<std::string, double>> calls;  ///< per iteration
    double seconds = 0;                                 ///< per iteration
  };

  tl::expected<double, std::string> measure_once(const std::string& place,
                                                 std::uint64_t turns) const;
  tl::expected<Counted, std::string> count_calls() const;
  /// The ratio of B to A, with `turns` turns in B.
  tl::expected<double, std::string> ratio_at(const std::string& place,
                                             std::uint64_t turns,
                                             std::size_t pairs,
                                             std::mt19937_64& chance) const;

  BenchmarkOptions options_;
  std::string name_;
  Clock clock_ = Clock::counting;
};

}  // namespace lastref::perf
