// record: the measurements of one commit at one time, and the machine and build.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/perf/google_benchmark.hpp"

namespace lastref::perf {

/// The properties of a machine that affect how long things take.
struct Machine {
  std::string processor;
  unsigned cores = 0;  ///< that this program may use
  std::string kernel;
  std::string governor;  ///< of the clock rate; empty: unknown
  bool is_virtual = false;
  double load = 0;  ///< tasks that ran or were ready, averaged over the last minute

  bool operator==(const Machine&) const = default;
};

/// As /proc, /sys and uname(2) report it; unknown values stay empty. `load` is that of another
/// time.
Machine this_machine(std::optional<double> load = {});

/// One line, without the load.
std::string name_of(const Machine& machine);

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

  bool operator==(const Record&) const = default;
};

/// A run of another project's program as a record, as far as its JSON allows. The commit of the
/// record is unknown. Its time is the start of the run, or else `now`, in seconds
/// since 1970. Its machine is identified by the host name only.
Record record_of_foreign(const BenchmarkRun& run, std::int64_t now);

}  // namespace lastref::perf
