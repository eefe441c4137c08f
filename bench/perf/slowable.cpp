#include "bench/perf/slowable.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "bench/perf/statistics.hpp"

namespace lastref::perf {
namespace {

constexpr const char* spin_variable = "LASTREF_BENCH_SPIN";
constexpr const char* calls_variable = "LASTREF_BENCH_CALLS";
/// The approximate time of a turn; only an initial guess.
constexpr double seconds_of_a_turn = 0.3e-9;

tl::unexpected<std::string> no(std::string why) {
  return tl::unexpected<std::string>(std::move(why));
}

/// The standard deviation of a normal distribution with this median distance from 0.
double spread_of(std::vector<double> logarithms) {
  std::ranges::for_each(logarithms, [](double& each) { each = std::abs(each); });
  constexpr double deviations = 1.4826;
  return deviations * median_of(logarithms);
}

}  // namespace

tl::expected<double, std::string> Slowable::measure_once(const std::string& place,
                                                         std::uint64_t turns) const {
  BenchmarkOptions options = options_;
  options.environment.emplace_back(spin_variable, fmt::format("{}:{}", place, turns));
  const auto measured = measure_benchmark(options, name_);
  if (!measured) {
    return no(measured.error());
  }
  return clock_ == Clock::processor ? measured->processor_seconds.front()
                                    : seconds_that_count(*measured).front();
}

tl::expected<std::optional<double>, std::string> Slowable::listen(std::size_t pairs,
                                                                  double spread_max) {
  std::vector<double> counting;
  std::vector<double> processor;
  BenchmarkOptions options = options_;
  options.environment.emplace_back(spin_variable, "body:0");
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const auto one = measure_benchmark(options, name_);
    const auto other = one ? measure_benchmark(options, name_) : one;
    if (!other) {
      return no(other.error());
    }
    counting.push_back(
        std::log(seconds_that_count(*other).front() / seconds_that_count(*one).front()));
    processor.push_back(
        std::log(other->processor_seconds.front() / one->processor_seconds.front()));
  }
  for (const auto& [clock, logarithms] :
       {std::pair(Clock::counting, counting), std::pair(Clock::processor, processor)}) {
    const double spread = spread_of(logarithms);
    if (std::isfinite(spread) && spread <= spread_max) {
      clock_ = clock;
      return spread;
    }
  }
  return std::nullopt;
}

tl::expected<Slowable::Counted, std::string> Slowable::count_calls() const {
  const std::filesystem::path calls = options_.scratch / "calls";
  std::error_code error;
  std::filesystem::remove(calls, error);
  BenchmarkOptions options = options_;
  options.environment.emplace_back(calls_variable, calls.string());
  const auto measured = measure_benchmark(options, name_);
  if (!measured) {
    return no(measured.error());
  }
  Counted counted{.calls = {}, .seconds = seconds_that_count(*measured).front()};
  std::ifstream file(calls);
  const double iterations = std::max(static_cast<double>(measured->iterations.front()), 1.0);
  std::string name;
  for (double count = 0; file >> name >> count;) {
    // A call that is made once per run is not part of an iteration. Nor is a call that several
    // iterations share, however many there are in total.
    if (count / iterations > 0.9 && count > 50) {
      counted.calls.emplace_back(name, count / iterations);
    }
  }
  if (counted.calls.empty()) {
    counted.calls.emplace_back("body", 1);
  }
  return counted;
}

tl::expected<double, std::string> Slowable::ratio_at(const std::string& place,
                                                     std::uint64_t turns,
                                                     std::size_t pairs,
                                                     std::mt19937_64& chance) const {
  std::vector<double> logarithms;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const bool is_b_first = std::bernoulli_distribution(0.5)(chance);
    const auto first = measure_once(place, is_b_first ? turns : 0);
    const auto second = first ? measure_once(place, is_b_first ? 0 : turns) : first;
    if (!second) {
      return no(second.error());
    }
    logarithms.push_back(is_b_first ? std::log(*first / *second) : std::log(*second / *first));
  }
  return std::exp(centre_of(logarithms, 0.5).middle);
}

tl::expected<std::optional<SlowPlace>, std::string> Slowable::find_place(std::size_t pairs,
                                                                         std::mt19937_64& chance) {
  auto counted = count_calls();
  if (!counted) {
    return no(counted.error());
  }
  std::ranges::shuffle(counted->calls, chance);
  constexpr std::size_t places_max = 4;
  counted->calls.resize(std::min(counted->calls.size(), places_max));
  for (const auto& [place, calls] : counted->calls) {
    // About 50 % longer: well above the noise, and close enough to the later slowdowns that a turn
    // costs the same.
    const double half = counted->seconds / 2 / calls / seconds_of_a_turn;
    const auto guess = static_cast<std::uint64_t>(std::max(half, 1.0));
    const auto rough = ratio_at(place, guess, 3, chance);
    if (!rough) {
      return no(rough.error());
    }
    if (*rough < 1.1) {
      continue;  // Time is not measured here.
    }
    const double wanted = static_cast<double>(guess) * 0.4 / (*rough - 1);
    const auto turns = static_cast<std::uint64_t>(std::max(wanted, 1.0));
    const auto ratio = ratio_at(place, turns, pairs, chance);
    if (!ratio) {
      return no(ratio.error());
    }
    if (*ratio > 1.1) {
      return SlowPlace{.name = place, .part_of_a_turn = (*ratio - 1) / static_cast<double>(turns)};
    }
  }
  return std::nullopt;
}

MeasureOnce Slowable::measure(const SlowPlace& place, double slower) const {
  const auto turns = static_cast<std::uint64_t>(std::llround(slower / place.part_of_a_turn));
  return [this, place = place.name, turns](Side side, std::size_t) {
    return measure_once(place, side == Side::a ? 0 : turns).map([](double seconds) {
      return std::vector{seconds};
    });
  };
}

}  // namespace lastref::perf
