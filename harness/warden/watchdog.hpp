// watchdog: a parent process for a supervisor. If the supervisor dies, all processes that it
// watched die; if the parent dies, the supervisor ends the processes that it watches. Otherwise
// calls that wait for a dead supervisor would fail, and the programs would continue with these
// errors.
#pragma once

#include <functional>

namespace lastref::harness::warden {

/// Runs `work` in a child and returns its result; `died` if the child was killed. Forwards signals
/// that were sent to us alone to the child. Children that we had before are not among the watched
/// processes.
int with_watchdog(const std::function<int()>& work, int died);

}  // namespace lastref::harness::warden
