// locks: which files a process has locked, and which process it waits for, as reported by the
// kernel. proc(5), locks
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lastref::harness::warden {

/// The names of the files, or "inode 17" for one that the process has no descriptor of.
std::vector<std::string> locks_of(int process);

/// The process that holds the lock for which a thread of this process waits. Absent: it waits for
/// no lock, or the kernel does not know the holder.
std::optional<int> holder_before(int process);

}  // namespace lastref::harness::warden
