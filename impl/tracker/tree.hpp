// Tree: the folder of one process tree, and the lock that shows which of its processes are alive.
//
// Every process locks a byte of its own in `lock`. The position of the byte is the nonce, which
// identifies the process; a pid does not, because another namespace has the same pids. The tracker
// locks byte 0; the root locks one more byte, before all others. The kernel drops a lock at its
// holder's death, and a forked process does not inherit it. So a tree is dead if an exclusive lock
// on the whole file is granted; this never depends on pids.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <lastref/owners.hpp>
#include <lastref/tracker.hpp>

#include "impl/tracker/lock_file.hpp"

namespace lastref::tracker {

/// Paths below a tree's folder.
struct TreePaths {
  std::string folder;

  std::string lock() const { return folder + "/lock"; }
  std::string ledger() const { return folder + "/ledger"; }
  std::string socket() const { return folder + "/socket"; }
};

/// Removes the folder of a tree after the clean-up of its names: socket, ledger, lock, folder, and
/// the runtime folder if this was its last tree. It owns the paths, so that it allocates nothing.
class TreeRemoval {
 public:
  explicit TreeRemoval(const TreePaths& paths);
  Status remove(os::Os& os) const noexcept;
  const os::PathAt& folder() const noexcept { return folder_; }
  const os::PathAt& socket() const noexcept { return socket_; }

 private:
  os::PathAt socket_;
  os::PathAt ledger_;
  os::PathAt lock_;
  os::PathAt folder_;
  os::PathAt runtime_;
};

/// The first bit of the nonce of each membership: so that no request has such an id.
inline constexpr std::uint32_t nonce_bit = 0x80000000U;

/// A membership of a tree. A process may have several in the same tree.
struct Membership {
  LockFile lock;            ///< the byte of the nonce is locked
  std::uint32_t nonce = 0;  ///< random, with nonce_bit
};

/// What the lock of a tree shows of a membership.
struct KnownMember {
  os::Pid pid = 0;  ///< 0 if it is in a pid namespace that we do not see
  std::uint32_t nonce = 0;
  friend bool operator==(const KnownMember&, const KnownMember&) = default;
};

/// What a root has open of its tree, so that the tree survives the loss of their names.
struct TreeParts {
  os::UniqueFd folder;  ///< Locked: programs that remove files by age skip everything in it.
  os::UniqueFd ledger;
  os::UniqueFd listener;
};

/// A tree that the caller leads: nothing below its folder is missing.
struct OwnTree {
  TreePaths paths;
  Membership membership;  ///< the root's byte is locked as well
  TreeParts parts;
  TreeRemoval removal;
};

/// Which parts of a tree were removed, or replaced by others.
struct LostParts {
  bool lock = false;
  bool ledger = false;
  bool socket = false;

  bool any() const noexcept { return lock || ledger || socket; }
};

/// The numbers of the descriptors that a tracker starts with: always the first, and the old parts
/// of a tree that has lost parts. Then its arguments contain the number of locks.
inline constexpr const char* old_locks_option = "--old-locks";
inline constexpr int old_ledger_fd = 4;
inline constexpr int first_old_lock_fd = 5;

/// bytes; the kernel still accepts the path of a socket in a tree in it.
inline constexpr std::size_t runtime_size_max = 67;

/// The folders that may contain trees, the best location first; absolute.
///
/// Errors          of working_folder, for a relative one; filename_too_long.
Result<std::vector<std::string>> runtime_locations(os::Os& os, const std::string& wanted);

/// Whether `path` is a folder of ours that no other user can enter or replace, and no symlink.
Status check_private(os::Os& os, const std::string& path);

/// Sweeps orphaned trees, then creates a tree below the first runtime folder that is usable and has
/// space for it. That folder is created if necessary, has mode 0700, belongs to us and is no
/// symlink. On an error nothing remains that could be removed.
///
/// Errors          of the first location that is full, else of the last one tried, with its path.
///                 If $LASTREF_RUNTIME_FOLDER or `wanted` is set, it is the only location.
Result<OwnTree> make_tree(os::Os& os, const std::string& wanted_runtime_folder);

/// Finds the parts that have lost their names, in a tree that the caller leads.
///
/// Errors          of status and status_at.
/// Crossings       status_at for each part; status of the ledger.
Result<LostParts> find_lost(os::Os& os,
                            const TreePaths& paths,
                            const LockFile& lock,
                            const TreeParts& parts);

/// Recreates the lock, and its folders, and locks the root's byte in it; that of the membership
/// too, unless its nonce is 0. A ledger that is still there is removed first: until the byte is
/// locked, a sweep takes the tree for an orphaned one.
///
/// Errors          as make_tree; no_such_file_or_directory, resource_unavailable_try_again: a sweep
///                 removed it meanwhile.
Result<LockFile> make_lock_again(os::Os& os, const TreePaths& paths, std::uint32_t nonce);
/// Opens the folder, and locks it against programs that remove files by age. While the folder
/// exists, its runtime folder cannot be removed.
Result<os::UniqueFd> open_tree_folder(os::Os& os, const TreePaths& paths);
/// Makes the ledger, which is empty, or the socket.
Result<os::UniqueFd> make_ledger(os::Os& os, const TreePaths& paths);
Result<os::UniqueFd> make_listener(os::Os& os, const TreePaths& paths);

/// Whether a sweep took a tree, or its runtime folder, for an orphaned one while it was made.
bool is_worth_another_try(const Error& error) noexcept;

/// Locks the byte of a membership in the recreated lock, if there is one.
///
/// Errors          no_such_file_or_directory: it was not recreated yet; of open and lock_range. The
///                 membership keeps the byte that it had.
Status follow_lock(os::Os& os, const TreePaths& paths, LockFile& lock, std::uint32_t nonce);
/// Ends this membership only. The lock stays open, and so do other bytes.
Status leave_lock(LockFile& lock, std::uint32_t nonce);

/// Opens the lock of an existing tree and locks a byte for a new membership of this process.
///
/// Errors          no_such_file_or_directory: the tree has ended; permission_denied: it is another
///                 user's.
Result<Membership> join_lock(os::Os& os, const TreePaths& paths);

/// Locks the tracker's byte.
///
/// Errors          device_or_resource_busy: another tracker serves the tree.
Status lock_as_tracker(os::Os& os, os::Fd lock);

/// Whether the tree can answer, now or later: its tracker is alive, or its root, which would start
/// another one. Not for the tracker or the root, because a process does not see its own locks.
Result<bool> can_be_served(os::Os& os, os::Fd lock);

/// Whether the membership still has its byte. True when in doubt.
bool is_member(os::Os& os, os::Fd lock, std::uint32_t nonce) noexcept;

/// The memberships of all other processes, the tracker's excepted.
Result<std::vector<KnownMember>> members_of(os::Os& os, os::Fd lock);

/// Removes an empty runtime folder, if we made it, as its sticky bit shows (E4).
void remove_runtime(os::Os& os, const os::PathAt& where) noexcept;

/// See TreeRemoval.
Status remove_tree(os::Os& os, const TreePaths& paths);

/// If the tree is dead: cleans up what its ledger names and removes it. Adds what happened to
/// `swept`.
Status reclaim_tree(os::Os& os, const TreePaths& paths, Swept& swept);

/// Calls reclaim_tree for every tree in a runtime folder; continues after an error and returns the
/// last.
Status sweep_trees(os::Os& os, const std::string& runtime, Swept& swept);

/// `sweep` in these runtime folders. Another user's folder is an error only if `minds_others`.
///
/// Errors          as sweep.
Result<Swept> sweep_locations(os::Os& os,
                              std::span<const std::string> locations,
                              bool minds_others);

}  // namespace lastref::tracker
