// locks: which files a process has locked, and whom it waits for, as the kernel tells. proc(5),
// locks
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lastref::harness::warden {

/// The names of the files, or "inode 17" of one that it has no descriptor of.
std::vector<std::string> locks_of(int process);

/// Who has locked what a thread of this process waits to lock. None: it waits for no lock, or the
/// kernel does not know by which process it is held.
std::optional<int> holder_before(int process);

}  // namespace lastref::harness::warden
