// peers: whether a benchmark measures others beside us.
#pragma once

namespace lastref::bench {

/// Not if LASTREF_BENCH_WITHOUT_PEERS is set, and is not 0: rows are as they are, but the counters
/// that say how many times as long others take are not there, and nobody waits for the others.
bool with_peers();

}  // namespace lastref::bench
