// sweep: what dead processes have left in a folder of caches.
//
// A tracker cleans up after its tree, and the next start of any tree after dead trackers, by their
// ledgers. Those are in memory: a container that starts again has a new /dev/shm and its old home.
// So each file of a cache has one beside it, with the same name but for the ending, on which its
// process holds a record lock: the kernel drops it when that process is gone, no forked stranger
// keeps it, and it holds between containers that share a folder, where pids say nothing.
#pragma once

#include <string>

#include <lastref/os.hpp>

namespace lastref::cache {

/// Endings of names. What comes before is that of a process, and random: "<pid>-<32 digits>".
inline constexpr const char* lock_ending = ".lock";
inline constexpr const char* live_ending = ".cache";
inline constexpr const char* part_ending = ".part";

/// Removes the files of processes that are dead, of this user, with such names; of live caches only
/// what is one, or was to become one. What cannot be looked at or removed stays for the next time,
/// which is said unless somebody may have it. Whoever has a removed file open or mapped keeps it.
/// Of files that this very process has made, none is opened: to close one would drop its lock.
///
/// Crossings       open, read_folder, close; for each lock there status_at, open, lock_range.
void sweep_dead(os::Os& os, const std::string& folder);

}  // namespace lastref::cache
