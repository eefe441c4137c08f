// kernel_os_spawn: starts processes that are not our children, and reports how they end (E7).
//
// A program that waits for all of its children, reaps those of other code, or ignores SIGCHLD must
// not notice that we start processes. So the caller does not start the process itself: a child of
// it, A, does, and exits immediately. The process then belongs to init, which reaps it. A shares
// our memory and our descriptors (CLONE_VM, CLONE_FILES) and runs while the calling thread is
// suspended (CLONE_VFORK), so it can call posix_spawn and return the process descriptor by its
// number. Its own end raises no signal, and wait(2) without __WALL does not see it (exit signal 0).
//
// After the process was reaped, the kernel reports its exit through its descriptor: Linux 6.15,
// PIDFD_INFO_EXIT. Until it is reaped (init may be slow, or a program that never reaps), proc(5)
// does. On a kernel without that report, the process stays our child if its exit status is wanted.
//
// Differs: the processes that we start have SIGCHLD's default action even if the program ignores
// it; a process that was started with SIGCHLD ignored cannot wait for its children.
//
// If the program is init itself or a subreaper, the process becomes its child. If its exit status
// is not wanted, a thread reaps it as soon as it has ended.
//
// Limits: if such a program calls wait() before that thread does, wait() returns the process.
#pragma once

#include <sys/types.h>

#include <optional>

#include <lastref/os.hpp>

namespace lastref::os {

/// As pidfd_open(2). The header of glibc 2.36 does not declare it as C.
int pidfd_open(pid_t pid) noexcept;

/// Whether the kernel reports the exit of a process that is not our child. Tested once.
bool reports_exit_of_detached() noexcept;

/// The exit of the process, if it has ended. `process` is no child of ours.
///
/// Errors          no_child_process: it is dead, and the kernel does not report how it ended.
Result<std::optional<ChildExit>> exit_status_of_detached(Fd process) noexcept;

}  // namespace lastref::os
