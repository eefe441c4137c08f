// child_process: starts child processes and waits for their end, without os::Os, which detaches
// the processes that it starts.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/platform/unique_fd.hpp"

namespace lastref::harness {

/// Forks a child that exits with the result of `work`. As fork(2): -1 and errno.
int start_child(const std::function<int()>& work);

/// Waits until a child of ours has ended, and returns its wait status. Absent, with errno: there is
/// no such child. waitpid(2)
std::optional<int> reap(int child) noexcept;

/// Waits for any process to be dead, at most for `patience`. True if it is dead.
bool is_dead(int process, std::chrono::milliseconds patience) noexcept;

/// pidfd_open(2)
UniqueFd open_pidfd(int process) noexcept;
/// The wait status of a process that has ended and was reaped, by us or by another process. Absent:
/// it was not, or this kernel does not tell (Linux 6.15 does). ioctl_pidfs(2)
std::optional<int> status_of_reaped(const UniqueFd& process) noexcept;
/// A copy of a descriptor of another process. pidfd_getfd(2)
UniqueFd copy_fd_of(int process, int descriptor) noexcept;

/// A list as execve(2) requires it, which refers to `words`.
std::vector<char*> pointers_to(std::vector<std::string>& words);

}  // namespace lastref::harness
