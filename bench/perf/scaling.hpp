// scaling: how the time of a benchmark grows with its size, as an exponent: t = a * n^e.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/perf/google_benchmark.hpp"

namespace lastref::perf {

struct SizedTime {
  double size = 0;
  double seconds = 0;  ///< per iteration; the median of all repetitions
};

/// Rows with names that differ only in their last argument, a number above 0.
struct Scaling {
  std::string name;              ///< without that argument, with what follows it: threads:2
  std::string unit;              ///< "names" of names:1000; empty: the argument has no name
  std::vector<SizedTime> times;  ///< from the smallest size on
  double exponent = 0;           ///< fitted to the logarithms of all of them
  double last = 0;               ///< between the two largest, where constant parts count least
};

/// A benchmark that has a size, but no valid time.
struct LeftOut {
  std::string name;
  std::string why;

  bool operator==(const LeftOut&) const = default;
};

struct Scalings {
  std::vector<Scaling> all = {};
  std::vector<LeftOut> left_out = {};  ///< Their effect is unknown.
};

/// The scalings of all benchmarks that have at least two sizes, in the order of the text.
Scalings scalings_of(const BenchmarkRun& run);

/// The slope of a least-squares line through the logarithms. Sizes differ. Sizes and times are
/// above 0.
double exponent_of(const std::vector<SizedTime>& times);

}  // namespace lastref::perf
