// kernel_os_spawn: processes that are not our children, and how they end (E7).
//
// A program that waits for all of its children, reaps those of others, or ignores SIGCHLD must not
// notice that we start processes. So a process is not started by the caller but by a child of it,
// A, that exits immediately. The process then belongs to init, which reaps it. A shares our memory
// and our descriptors (CLONE_VM, CLONE_FILES) and runs while the calling thread is suspended
// (CLONE_VFORK), so it can call posix_spawn and return the process descriptor by its number. Its
// own end raises no signal, and wait(2) without __WALL does not see it (exit signal 0).
//
// After the process was reaped, the kernel reports its exit through its descriptor: Linux 6.15,
// PIDFD_INFO_EXIT. Until it is reaped (init may be slow, or be a program that never reaps), proc(5)
// does. If the kernel has no such report, the process stays a child of ours if its exit is wanted.
//
// Differs: the processes that we start have SIGCHLD's default action even if the program ignores
// it; a process that was started with SIGCHLD ignored cannot wait for its children.
//
// If the program is init itself or a subreaper, the process becomes its child. If its exit is not
// wanted, a thread reaps it as soon as it has ended.
//
// Limits: a wait() of such a program sees it if the call comes first.
#pragma once

#include <sys/types.h>

#include <optional>

#include <lastref/os.hpp>

namespace lastref::os {

/// As pidfd_open(2). The header of glibc 2.36 does not declare it as C.
int pidfd_open(pid_t pid) noexcept;

/// Whether the kernel reports the exit of a process that is not our child. Tested once.
bool tells_how_nobodys_end() noexcept;

/// The exit of the process, if it has ended. `process` is no child of ours.
///
/// Errors          no_child_process: it is dead, and the kernel does not report how it ended.
Result<std::optional<ChildExit>> end_of_nobodys(Fd process) noexcept;

}  // namespace lastref::os
