// foreign: turns a run of another project's program into a record, as far as its JSON allows.
#pragma once

#include <cstdint>

#include "bench/perf/google_benchmark.hpp"
#include "bench/perf/record.hpp"

namespace lastref::perf {

/// The commit of the record is unknown. Its time is the start of the run, or else `now`, in seconds
/// since 1970. Its machine is identified by the host name only.
Record record_of_foreign(const BenchmarkRun& run, std::int64_t now);

}  // namespace lastref::perf
