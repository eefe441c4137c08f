// Record: the measurements of one commit at one time, and the machine and build.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/perf/google_benchmark.hpp"
#include "bench/perf/machine.hpp"

namespace lastref::perf {

struct Commit {
  std::string name;                           ///< Its hash, or a name given by the user.
  std::int64_t time = 0;                      ///< seconds since 1970 at which it was made
  std::optional<std::int64_t> position = {};  ///< number of commits in its history, if known
  std::string subject = {};

  bool operator==(const Commit&) const = default;
};

struct Record {
  Commit commit;
  Machine machine;
  std::string compiler;       ///< with its version; empty: not known
  std::string flags;          ///< of the compiler; empty: not known
  std::string program;        ///< the program with the benchmarks
  std::int64_t recorded = 0;  ///< seconds since 1970
  std::vector<MeasuredBenchmark> benchmarks;
};

}  // namespace lastref::perf
