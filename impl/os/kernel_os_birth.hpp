// kernel_os_birth: processes that are nobody's children, and how they end (E7).
//
// A program that waits for all of its children, reaps those of others, or ignores SIGCHLD must not
// notice that we start processes. So one is not started by the caller but by a child of it, A, that
// is gone at once; what A has started belongs to init then, who reaps it. A shares our memory and
// our descriptors (CLONE_VM, CLONE_FILES) and runs while the calling thread stands still
// (CLONE_VFORK), so it can call posix_spawn and give the process descriptor back by its number. Its
// own end raises no signal, and wait(2) without __WALL does not see it (exit signal 0).
//
// How such a process ended the kernel tells by its descriptor, when it was reaped: Linux 6.15,
// PIDFD_INFO_EXIT. As long as it is not reaped (init may be slow, or be a program that never does),
// proc(5) does. Where the kernel does not tell, whose end is wanted stays a child of ours.
//
// Differs: what we start has SIGCHLD's default action though the program ignores it; nobody can
// wait for anything who was started with SIGCHLD ignored.
//
// If the program is init itself or a subreaper, what A has started becomes its child. If its end is
// not wanted, a thread reaps it as soon as it has ended.
//
// Limits: a wait() of such a program sees it if it comes first.
#pragma once

#include <spawn.h>

#include <optional>

#include <lastref/os.hpp>

namespace lastref::os {

/// As pidfd_open(2), which glibc 2.36 forgets to say is C.
int pidfd_open(pid_t pid) noexcept;

/// What to start, and what came of it.
struct Birth {
  const char* program = nullptr;
  bool is_searched = false;  ///< on PATH
  const posix_spawn_file_actions_t* actions = nullptr;
  const posix_spawnattr_t* attributes = nullptr;
  char* const* arguments = nullptr;
  char* const* variables = nullptr;
  bool many_fds = false;  ///< Heeded for nobody's children alone: A can change what they get.

  int error = 0;              ///< An errno
  Call failed = Call::spawn;  ///< Which of the calls that a birth takes gave it
  pid_t pid = 0;
  int process = -1;
};

/// As a child of the caller.
void start_child(Birth& birth) noexcept;

/// As nobody's child. False if that cannot be done here: nothing was tried.
bool start_nobodys(Birth& birth) noexcept;

/// Reaps it as soon as it has ended, if it is a child of this process in spite of all; `process`
/// stays the caller's. If there is no thread for that it is reaped by wait_child alone.
void reap_in_background(pid_t pid, int process) noexcept;

/// Whether the kernel tells how nobody's child ended. Found out once.
bool tells_how_nobodys_end() noexcept;

/// How it ended, if it did. `process` is no child of ours.
///
/// Errors          no_child_process: it is dead, and the kernel does not tell.
Result<std::optional<ChildExit>> end_of_nobodys(Fd process) noexcept;

}  // namespace lastref::os
