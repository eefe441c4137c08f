// peers: whether a benchmark also measures other libraries and programs.
#pragma once

namespace lastref::bench {

/// False if LASTREF_BENCH_WITHOUT_PEERS is set to anything except 0. Then rows are the same, but
/// without the counters that compare the times of others, and the others do not run.
bool with_peers();

}  // namespace lastref::bench
