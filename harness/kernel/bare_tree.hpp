// bare_tree: the minimum cost of a run of four processes, on this machine at this time.
#pragma once

#include <cstddef>

namespace lastref::harness {

/// The number of four-process trees per second. A process forks three children that wait
/// indefinitely, kills and reaps them, and exits. Nothing is judged, reported or cleaned up. Runs
/// on one core, as a world's runs do. Call it while the program is small and has one thread. 0 when
/// no process can be started.
double bare_loops_per_second(std::size_t loops);

}  // namespace lastref::harness
