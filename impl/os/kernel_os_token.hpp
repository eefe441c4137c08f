// kernel_os_token: what tells a process from one that was forked from it, whatever their pids.
//
// A word in a page of its own, which the kernel empties in every child that does not share our
// memory: fork(2) and clone(2) are the same to it, and so are namespaces. Who finds the word empty
// fills it by chance. No lock is taken, for a fork could leave it held.
#pragma once

#include <cstdint>

namespace lastref::os {

std::uint64_t token_of_process() noexcept;

}  // namespace lastref::os
