// process_group: all processes of a tree, so that a test can kill them at once.
#pragma once

#include <cstddef>

#include <lastref/os.hpp>

namespace lastref::pretend {

/// Makes the calling process the leader of a process group with its pid, which includes all that it
/// starts. It is killed when the thread that started it ends: a killed test leaves no process.
void lead_group();

/// From now on the calling process reaps the orphans of processes that it has started.
void adopt_orphans();

/// Sends SIGKILL to the whole group at once. Returns when its last process is reaped; false if the
/// group was empty.
bool kill_group(os::Pid leader);

/// Returns when every child of the calling process has ended and is reaped.
void bury_all();

/// The number of threads of the calling process that are not exiting: one is in /proc for a while
/// after it was joined.
std::size_t running_threads();

/// Makes the calling process belong to the user nobody: uid and gid 65534, no groups. False if that
/// is not permitted.
bool become_nobody();

}  // namespace lastref::pretend
