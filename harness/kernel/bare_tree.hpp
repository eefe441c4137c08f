// bare_tree: what a run of four processes costs at least, on this machine and at this
// moment.
#pragma once

#include <cstddef>

namespace lastref::harness {

/// How many trees of four a second: a process forks three that wait for ever, kills and reaps them,
/// and ends. Nothing is judged, said or cleaned. On one core, as a world's runs are. Call it while
/// the program is small and has one thread. 0 when processes cannot be had.
double bare_loops_per_second(std::size_t loops);

}  // namespace lastref::harness
