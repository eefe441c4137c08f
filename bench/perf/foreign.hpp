// foreign: a run of somebody else's program as a record, as far as its JSON tells.
#pragma once

#include <cstdint>

#include "bench/perf/google_benchmark.hpp"
#include "bench/perf/record.hpp"

namespace lastref::perf {

/// Of a commit that nothing is known of, made when the run began, or `now`: seconds since 1970. Its
/// machine is the host of that name, and no other.
Record record_of_foreign(const BenchmarkRun& run, std::int64_t now);

}  // namespace lastref::perf
