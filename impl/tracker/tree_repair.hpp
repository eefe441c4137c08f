// TreeRepair: how a root recreates the removed parts of its tree.
//
// Open descriptors outlive the names of their files: the members keep their locks, and the last
// tracker continued to write to its ledger. So the root ends the tracker, and recreates the lost
// parts under the same names, the only ones that members know. Then it starts a tracker that
// inherits the old parts that the root still has. That tracker reads the old ledger. The old locks
// show it which members have not moved to the new lock. While there are such members, the new
// ledger stays empty: a sweep that sees only the new lock could take the tree for an orphaned one.
// If the root dies before the next tracker runs, a sweep finds nothing that it could remove by
// mistake.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <lastref/owners.hpp>

#include "impl/tracker/tree.hpp"

namespace lastref::tracker {

/// Keeps the old parts until the next tracker and all members have the new ones.
class TreeRepair {
 public:
  /// Refers to the parts of a root, and replaces them.
  TreeRepair(os::Os& os, const TreePaths& paths, LockFile& lock, TreeParts& parts) noexcept
      : os_(os), paths_(paths), lock_(lock), parts_(parts) {}

  /// Called when no tracker runs. Returns whether anything had been removed. `nonce` is the root's
  /// byte of the lock; 0 for a root that leaves.
  Result<bool> repair(std::uint32_t nonce);
  std::string repair_notice() const;

  /// Whether another process holds a lock that a sweep does not check. True when in doubt.
  bool has_others();
  /// Called when no tracker runs, by a root that leaves. A later sweep then finds the names.
  void save_names(bool has_others);

  /// Whether the next tracker needs old parts.
  bool has_old_parts() const noexcept { return !old_locks_.empty() || old_ledger_; }
  std::span<const LockFile> old_locks() const noexcept { return old_locks_; }
  /// The ledger with the names.
  os::Fd ledger() const noexcept { return old_ledger_ ? old_ledger_.get() : parts_.ledger.get(); }

 private:
  Result<bool> repair_once(std::uint32_t nonce);
  Status make_again(const LostParts& lost, std::uint32_t nonce);
  Status forget_blank_ledger();
  Result<bool> has_unsaved_names();

  os::Os& os_;
  const TreePaths& paths_;
  LockFile& lock_;
  TreeParts& parts_;
  // The next tracker needs them until all members have a byte of the recreated lock.
  std::vector<LockFile> old_locks_;
  os::UniqueFd old_ledger_;  // with names that are not in the new one yet
};

}  // namespace lastref::tracker
