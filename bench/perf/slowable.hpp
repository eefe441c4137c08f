// Slowable: a benchmark that can be made slower by as much as is wanted, for the self-test.
//
// The program spins after each crossing of one call of the seam, or in its body if it makes none;
// see bench/slowed_os.hpp. How long is found out by measuring: so much longer does the benchmark
// take for so many turns of the loop.
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

/// A place that turns can be spent at, and what one of them adds to the time, as a part of it.
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

  /// Measures itself against itself, so many times. The clock that counts is taken if its pairs
  /// differ by no more than `spread_max`, else the processor's if those do. How much pairs differ
  /// then: the standard deviation of the logarithm of their ratio, were it normal. None: too much.
  tl::expected<std::optional<double>, std::string> listen(std::size_t pairs, double spread_max);

  /// Takes a random one of the places that it comes by in every iteration, where time is taken, and
  /// measures what a turn costs there. None: nowhere does it cost anything.
  tl::expected<std::optional<SlowPlace>, std::string> find_place(std::size_t pairs,
                                                                 std::mt19937_64& chance);

  /// A is as it is, B takes 1 + `slower` times as long.
  MeasureOnce measure(const SlowPlace& place, double slower) const;

 private:
  struct Counted {
    std::vector<std::pair<std::string, double>> calls;  ///< of one iteration
    double seconds = 0;                                 ///< of one iteration
  };

  tl::expected<double, std::string> measure_once(const std::string& place,
                                                 std::uint64_t turns) const;
  tl::expected<Counted, std::string> count_calls() const;
  /// B to A, with so many turns in B.
  tl::expected<double, std::string> ratio_at(const std::string& place,
                                             std::uint64_t turns,
                                             std::size_t pairs,
                                             std::mt19937_64& chance) const;

  BenchmarkOptions options_;
  std::string name_;
  Clock clock_ = Clock::counting;
};

}  // namespace lastref::perf
