// Record: what was measured of one commit at one time, and on what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/perf/google_benchmark.hpp"
#include "bench/perf/machine.hpp"

namespace lastref::perf {

struct Commit {
  std::string name;                           ///< Its hash, or what somebody calls it.
  std::int64_t time = 0;                      ///< seconds since 1970 at which it was made
  std::optional<std::int64_t> position = {};  ///< of how many commits its history is, if known
  std::string subject = {};

  bool operator==(const Commit&) const = default;
};

struct Record {
  Commit commit;
  Machine machine;
  std::string compiler;       ///< with its version; empty: not known
  std::string flags;          ///< that it was given; empty: not known
  std::string program;        ///< that measured
  std::int64_t recorded = 0;  ///< seconds since 1970
  std::vector<MeasuredBenchmark> benchmarks;
};

}  // namespace lastref::perf
