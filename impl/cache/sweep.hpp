// sweep: removes what dead processes have left in a folder of caches.
//
// A tracker cleans up after its tree, and the next start of any tree after dead trackers, by their
// ledgers. Those are in memory: a container that starts again has a new /dev/shm and its old home.
// So each file of a cache has a lock file next to it, with the same name except for the ending, on
// which its process holds a record lock. The kernel drops the lock when that process has exited,
// and no unrelated forked process keeps it. It works between containers that share a folder, where
// pids mean nothing.
#pragma once

#include <string>

#include <lastref/os.hpp>

namespace lastref::cache {

/// Endings of names. The part before is of a process, and random: "<pid>-<32 digits>".
inline constexpr const char* lock_ending = ".lock";
inline constexpr const char* live_ending = ".cache";
inline constexpr const char* part_ending = ".part";

inline bool is_same(const os::FileStatus& one, const os::FileStatus& other) noexcept {
  return one.device == other.device && one.inode == other.inode;
}

/// Removes the files of dead processes of this user that have such names. A file with the ending of
/// live caches is removed only if it is a cache or the beginning of one. A file that cannot be
/// checked or removed stays for the next sweep; this is reported unless a process may still own it.
/// A process that has a removed file open or mapped keeps it. Files that this process created are
/// not opened: closing one would drop its lock.
///
/// Crossings       open, read_folder, close; for each lock there status_at, open, lock_range.
void sweep_dead(os::Os& os, const std::string& folder);

}  // namespace lastref::cache
