// locks: who holds a lock of which file, as the kernel tells it. proc_locks(5)
#pragma once

#include <string>
#include <vector>

namespace lastref::harness::warden {

/// The files that this process has locked, by flock(2) or fcntl(2). A name where it has the file
/// open; else "inode 17".
std::vector<std::string> locks_of(int process);

}  // namespace lastref::harness::warden
