// Renaming in the simulated kernel.
//
// The order of checks is that of fs/namei.c in Linux: do_renameat2, then vfs_rename.
#include <cerrno>
#include <memory>

#include "harness/sim/sim_access.hpp"
#include "harness/sim/sim_kernel.hpp"

namespace lastref::harness::sim {
namespace {

/// Whether `inode` is `folder`, or one that it lies in.
bool is_above(const Inode& inode, std::shared_ptr<const Inode> folder) {
  while (folder && folder.get() != &inode) {
    folder = folder->parent.lock();
  }
  return folder != nullptr;
}

}  // namespace

Answer<void> SimKernel::may_rename(const Task& task, const Walk& from, const Walk& to) const {
  const bool is_folder = from.found->kind == os::FileKind::folder;
  if (auto allowed = may_remove(task, from); !allowed) {
    return allowed;
  }
  if (!to.found) {
    if (!may(task, *to.folder, to_write | to_search)) {
      return refused(EACCES);
    }
  } else {
    if (auto allowed = may_remove(task, to); !allowed) {
      return allowed;
    }
    if (is_folder != (to.found->kind == os::FileKind::folder)) {
      return refused(is_folder ? ENOTDIR : EISDIR);
    }
  }
  // Its ".." changes.
  if (is_folder && from.folder != to.folder && !may(task, *from.found, to_write)) {
    return refused(EACCES);
  }
  if (to.found && !to.found->entries.empty()) {
    return refused(ENOTEMPTY);
  }
  return {};
}

Answer<void> SimKernel::rename(Task& task, const os::Place& from_place, const os::Place& to_place) {
  const auto from = walk(task, from_place);
  if (!from) {
    return refused(from.error());
  }
  const auto to = walk(task, to_place);
  if (!to) {
    return refused(to.error());
  }
  if (from->last != Last::normal || to->last != Last::normal) {
    return refused(EBUSY);
  }
  if (!from->found || !to->folder->linked) {
    return refused(ENOENT);
  }
  if (to->slash && from->found->kind != os::FileKind::folder) {
    return refused(ENOTDIR);
  }
  if (from->found->device != to->folder->device) {
    return refused(EXDEV);
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
  if (auto allowed = may_rename(task, *from, *to); !allowed) {
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

}  // namespace lastref::harness::sim
