// process_group: all processes of a tree, for those who kill them at once.
#pragma once

#include <lastref/os.hpp>

namespace lastref::pretend {

/// The calling process, and all that it starts, become a group that has its pid. It is killed when
/// the thread that started it ends: a killed test leaves nobody at work.
void lead_group();

/// Orphans of processes that we have started are ours to bury from now on.
void adopt_orphans();

/// SIGKILL to all of the group at once. Returns when the last of them is buried; false if there was
/// nobody.
bool kill_group(os::Pid leader);

/// Returns when every process that is ours to bury has ended and is buried.
void bury_all();

/// The calling process is nobody's from now on: uid and gid 65534, no groups. False if it may not.
bool become_nobody();

}  // namespace lastref::pretend
