// Renaming and hard links in the simulated kernel.
//
// The order of checks is that of fs/namei.c in Linux: do_renameat2, then vfs_rename; do_linkat,
// then vfs_link, with protected_hardlinks.
#include <cerrno>
#include <memory>

#include "harness/sim/sim_access.hpp"
#include "harness/sim/sim_kernel.hpp"

namespace lastref::harness::sim {
namespace {

/// Whether `inode` is `folder`, or one of the folders that contain it.
bool is_above(const Inode& inode, std::shared_ptr<const Inode> folder) {
  while (folder && folder.get() != &inode) {
    folder = folder->parent.lock();
  }
  return folder != nullptr;
}

}  // namespace

Answer<void> SimKernel::may_rename(const SimProcess& caller,
                                   const Walk& from,
                                   const Walk& to) const {
  const bool is_folder = from.found->kind == os::FileKind::folder;
  if (auto allowed = may_remove(caller, from); !allowed) {
    return allowed;
  }
  if (!to.found) {
    if (!may(caller, *to.folder, to_write | to_search)) {
      return refused(EACCES);
    }
  } else {
    if (auto allowed = may_remove(caller, to); !allowed) {
      return allowed;
    }
    if (is_folder != (to.found->kind == os::FileKind::folder)) {
      return refused(is_folder ? ENOTDIR : EISDIR);
    }
  }
  // Its ".." changes.
  if (is_folder && from.folder != to.folder && !may(caller, *from.found, to_write)) {
    return refused(EACCES);
  }
  // A mount point cannot be renamed.
  if (from.found->device != from.folder->device ||
      (to.found && to.found->device != to.folder->device)) {
    return refused(EBUSY);
  }
  if (to.found && !to.found->entries.empty()) {
    return refused(ENOTEMPTY);
  }
  return {};
}

Answer<void> SimKernel::rename_to(SimProcess& caller,
                                  const os::PathAt& from_place,
                                  const os::PathAt& to_place,
                                  Target target) {
  const auto from = walk_to_name(caller, from_place);
  if (!from) {
    return refused(from.error());
  }
  const auto to = walk_to_name(caller, to_place);
  if (!to) {
    return refused(to.error());
  }
  const bool must_be_new = target == Target::fresh;
  if (from->folder->device != to->folder->device) {
    return refused(EXDEV);
  }
  if (from->last != Last::normal) {
    return refused(EBUSY);
  }
  if (to->last != Last::normal) {
    return refused(must_be_new ? EEXIST : EBUSY);
  }
  if (!from->found || !to->folder->linked) {
    return refused(ENOENT);
  }
  if (must_be_new && to->found) {
    return refused(EEXIST);
  }
  if ((from->slash || to->slash) && from->found->kind != os::FileKind::folder) {
    return refused(ENOTDIR);
  }
  if (is_above(*from->found, to->folder)) {
    return refused(EINVAL);
  }
  if (to->found && is_above(*to->found, from->folder)) {
    return refused(ENOTEMPTY);
  }
  if (from->found == to->found) {
    return {};
  }
  if (auto allowed = may_rename(caller, *from, *to); !allowed) {
    return allowed;
  }
  if (to->found) {
    unlink_at(*to);
  }
  from->folder->entries.erase(from->name);
  to->folder->entries[to->name] = {.inode = from->found, .order = next_order_++};
  from->found->parent = to->folder;
  return {};
}

Answer<void> SimKernel::rename(SimProcess& caller, const os::PathAt& from, const os::PathAt& to) {
  return rename_to(caller, from, to, Target::any);
}

Answer<void> SimKernel::rename_new(SimProcess& caller,
                                   const os::PathAt& from,
                                   const os::PathAt& to) {
  return rename_to(caller, from, to, Target::fresh);
}

Answer<void> SimKernel::link(SimProcess& caller,
                             const os::PathAt& from_place,
                             const os::PathAt& to_place) {
  const auto from = walk(caller, from_place);
  if (!from) {
    return refused(from.error());
  }
  if (!from->found) {
    return refused(ENOENT);
  }
  const auto to = walk_to_name(caller, to_place);
  if (!to) {
    return refused(to.error());
  }
  if (to->last != Last::normal || to->found) {
    return refused(EEXIST);
  }
  if (to->slash || !to->folder->linked) {
    return refused(ENOENT);
  }
  if (from->found->device != to->folder->device) {
    return refused(EXDEV);
  }
  const bool is_own = caller.user == 0 || caller.user == from->found->owner;
  if (!is_own && (from->found->kind != os::FileKind::regular ||
                  !may(caller, *from->found, to_read | to_write))) {
    return refused(EPERM);
  }
  if (!may(caller, *to->folder, to_write | to_search)) {
    return refused(EACCES);
  }
  if (from->found->kind == os::FileKind::folder) {
    return refused(EPERM);
  }
  ++from->found->names;
  to->folder->entries[to->name] = {.inode = from->found, .order = next_order_++};
  return {};
}

}  // namespace lastref::harness::sim
