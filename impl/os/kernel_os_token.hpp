// kernel_os_token: distinguishes a process from one that was forked from it, whatever their pids.
//
// A word in a page of its own, which the kernel clears in every child that does not share our
// memory: after fork(2) and clone(2), in every namespace. A process that finds the word empty
// stores a random number. No lock is taken, because a fork could leave it held.
#pragma once

#include <cstdint>

namespace lastref::os {

std::uint64_t token_of_process() noexcept;

}  // namespace lastref::os
