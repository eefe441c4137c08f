// Scaling: how the time of a benchmark grows with its size, as an exponent: t = a * n^e.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/perf/google_benchmark.hpp"

namespace lastref::perf {

struct SizedTime {
  double size = 0;
  double seconds = 0;  ///< an iteration; the median of all repetitions
};

/// Rows whose names differ only in their last argument, a number above 0.
struct Scaling {
  std::string name;              ///< without that argument, with all behind it: threads:2, say
  std::string unit;              ///< "names" of names:1000; empty: the argument has no name
  std::vector<SizedTime> times;  ///< from the smallest on
  double exponent = 0;           ///< fitted to the logarithms of all of them
  double last = 0;               ///< between the two largest, where what is constant counts least
};

/// A benchmark that has a size, and no time that counts.
struct LeftOut {
  std::string name;
  std::string why;
};

struct Scalings {
  std::vector<Scaling> all = {};
  std::vector<LeftOut> left_out = {};  ///< What it would have changed nobody knows.
};

/// Of all benchmarks that have at least two sizes, in the order of the text.
Scalings scalings_of(const BenchmarkRun& run);

/// The slope of a line through the logarithms, by least squares. Sizes differ and are above 0, and
/// so are times.
double exponent_of(const std::vector<SizedTime>& times);

}  // namespace lastref::perf
