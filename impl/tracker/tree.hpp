// Tree: the folder of one process tree, and the lock that says who of it is alive.
//
// Every process locks a byte of its own in `lock`, by the token that tells it from all others: pids
// are the same again in another namespace. The tracker locks byte 0, the root one more before all
// others. The kernel drops a lock at
// its holder's death and a forked stranger does not get it, so "the tree is dead" is "an exclusive
// lock on the whole file can be had", never a matter of pids.
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

/// Removes the folder of a tree whose names are cleaned: socket, ledger, lock, folder, and the
/// runtime folder if it was the last. Has what it needs, so that it allocates nothing.
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

/// The first bit of the nonce of each membership: so that no request has one for its id.
inline constexpr std::uint32_t nonce_bit = 0x80000000U;

/// A place in a tree. A process may have several of the same one.
struct Membership {
  LockFile lock;            ///< the byte of the nonce is locked
  std::uint32_t nonce = 0;  ///< drawn by chance, with nonce_bit
};

/// What the lock of a tree tells of a membership.
struct Known {
  os::Pid pid = 0;  ///< 0 if it is in a pid namespace that we do not see
  std::uint32_t nonce = 0;
  friend bool operator==(const Known&, const Known&) = default;
};

/// What a root has open of its tree, so that the tree survives the loss of their names.
struct TreeParts {
  os::UniqueFd folder;  ///< Locked against what removes by age, which passes over all in it.
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

/// Under which numbers a tracker has what it starts with: always the first, and what is left of a
/// tree that has lost parts. Then its arguments say how many locks.
inline constexpr const char* old_locks_option = "--old-locks";
inline constexpr int old_ledger_fd = 4;
inline constexpr int first_old_lock_fd = 5;

/// How often parts of a tree are made that a sweep removes meanwhile.
inline constexpr int tries_max = 8;

/// bytes; a socket in a tree in it still has a path that the kernel takes.
inline constexpr std::size_t runtime_size_max = 67;

/// Where trees may live, the best location first; absolute.
///
/// Errors          what working_folder said, for a relative one; filename_too_long.
Result<std::vector<std::string>> runtime_locations(os::Os& os, const std::string& wanted);

/// Whether `path` is a folder of ours that nobody else can enter or replace, and no symlink.
Status check_private(os::Os& os, const std::string& path);

/// Sweeps behind dead trees, then makes a tree below the first runtime folder that is usable and
/// has space for it: 0700, ours, no symlink, made if need be. On an error nothing of it is left
/// that could be removed.
///
/// Errors          of the first location that is full, else of the last one tried, with its path.
///                 $LASTREF_RUNTIME_FOLDER, or `wanted`, is the only one then.
Result<OwnTree> make_tree(os::Os& os, const std::string& wanted_runtime_folder);

/// What has lost its name of a tree that the caller leads.
///
/// Errors          what status and status_at said.
/// Crossings       status_at for each part; status of the ledger.
Result<LostParts> find_lost(os::Os& os,
                            const TreePaths& paths,
                            const LockFile& lock,
                            const TreeParts& parts);

/// Makes the lock again, and the folders that it lies in, and locks the root's byte of it; that of
/// the membership too, unless its nonce is 0. A ledger that is still there is removed before: until
/// the byte is locked, a sweep takes the tree for an orphaned one.
///
/// Errors          as make_tree; no_such_file_or_directory, resource_unavailable_try_again: a sweep
///                 removed it meanwhile.
Result<LockFile> make_lock_again(os::Os& os, const TreePaths& paths, std::uint32_t nonce);
/// Opens the folder, and locks it against what removes by age. The runtime folder that it is in
/// cannot be removed while it is there.
Result<os::UniqueFd> open_tree_folder(os::Os& os, const TreePaths& paths);
/// Makes the ledger, which is empty, or the socket.
Result<os::UniqueFd> make_ledger(os::Os& os, const TreePaths& paths);
Result<os::UniqueFd> make_listener(os::Os& os, const TreePaths& paths);

/// Whether a sweep took a tree, or its runtime folder, for an orphaned one's while it was made.
bool is_worth_another_try(const Error& error) noexcept;

/// Locks the byte of a membership in the lock that was made again, if it was.
///
/// Errors          no_such_file_or_directory: it was not made again yet; what open and lock_range
///                 said. The membership keeps the byte that it had.
Status follow_lock(os::Os& os, const TreePaths& paths, LockFile& lock, std::uint32_t nonce);
/// Ends the membership alone. The lock stays open, and so do other bytes.
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

/// Whether the tree can answer, now or later: its tracker lives, or its root, who would start
/// another. Asked by other members, for locks of one's own are not seen.
Result<bool> has_future(os::Os& os, os::Fd lock);

/// Whether the membership still has its byte. True when in doubt.
bool is_member(os::Os& os, os::Fd lock, std::uint32_t nonce) noexcept;

/// The memberships of all other processes, the tracker's excepted.
Result<std::vector<Known>> members_of(os::Os& os, os::Fd lock);

/// Removes a runtime folder in which nothing is left, if we made it: its sticky bit says so (E4).
void remove_runtime(os::Os& os, const os::PathAt& where) noexcept;

/// See TreeRemoval.
Status remove_tree(os::Os& os, const TreePaths& paths);

/// If the tree is dead: cleans up what its ledger says and removes it. Adds what happened to
/// `swept`.
Status reclaim_tree(os::Os& os, const TreePaths& paths, Swept& swept);

/// reclaim_tree for every tree in a runtime folder; goes on after an error and returns the last.
Status sweep_trees(os::Os& os, const std::string& runtime, Swept& swept);

/// `sweep` in these runtime folders. One that is another user's is an error only for who minds it.
///
/// Errors          as sweep.
Result<Swept> sweep_locations(os::Os& os,
                              std::span<const std::string> locations,
                              bool minds_others);

}  // namespace lastref::tracker
