// locks: which files a process has locked, and which locks a process waits for, as reported by the
// kernel. proc(5), locks and fdinfo
#pragma once

#include <string>
#include <vector>

namespace lastref::harness::warden {

/// A lock as the kernel prints it.
struct Lock {
  std::string text;  ///< "OFDLCK ADVISORY WRITE -1 08:01:17 0 EOF"
  int process = -1;  ///< The one that took it, which may be dead; -1: not known
};

/// The names of the files that it has locked, or that one of its descriptors has.
std::vector<std::string> locks_of(int process);

/// The locks that keep this process waiting at this descriptor.
std::vector<Lock> locks_awaited(int process, int descriptor);

/// Those of the processes that have the lock. A lock of a descriptor is inherited by fork. Empty:
/// none of them, or it cannot be distinguished from a lock of another process.
std::vector<int> holders_of(const Lock& lock, const std::vector<int>& processes);

}  // namespace lastref::harness::warden
