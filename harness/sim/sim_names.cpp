// sim_names: shared memory and semaphores, which are files in /dev/shm as glibc makes them; and
// renaming.
#include <array>
#include <cerrno>
#include <memory>
#include <optional>

#include "harness/sim/sim_access.hpp"
#include "harness/sim/sim_kernel.hpp"

namespace lastref::harness::sim {
namespace {

// The path that shm_open and sem_open use; absent for a name that they do not accept.
std::optional<std::string> shm_path(const std::string& name, const char* prefix) {
  const std::size_t start = name.find_first_not_of('/');
  if (start == std::string::npos || name.find('/', start) != std::string::npos ||
      name.find('\0') != std::string::npos) {
    return std::nullopt;
  }
  return std::string("/dev/shm/") + prefix + name.substr(start);
}

// glibc changes EPERM, which unlink(2) returns in a sticky folder, to EACCES. shm_unlink(3).
Answer<void> without_eperm(Answer<void> answer) {
  return !answer && answer.error() == EPERM ? refused(EACCES) : answer;
}

/// Whether `inode` is `folder`, or one of the folders that contain it.
bool is_above(const Inode& inode, std::shared_ptr<const Inode> folder) {
  while (folder && folder.get() != &inode) {
    folder = folder->parent.lock();
  }
  return folder != nullptr;
}

}  // namespace

Answer<os::Fd> SimKernel::create_shm(SimProcess& caller,
                                     const std::string& name,
                                     std::uint32_t mode) {
  const auto path = shm_path(name, "");
  if (!path) {
    return refused(EINVAL);
  }
  return open(caller, *path, {.write = true, .create = true, .mode = mode});
}

Answer<void> SimKernel::unlink_shm(SimProcess& caller, const std::string& name) {
  const auto path = shm_path(name, "");
  return path ? without_eperm(unlink(caller, *path)) : refused(ENOENT);
}

Answer<void> SimKernel::create_semaphore(SimProcess& caller,
                                         const std::string& name,
                                         std::uint32_t mode) {
  const auto path = shm_path(name, "sem.");
  if (!path) {
    return refused(EINVAL);
  }
  const auto fd = open(caller, *path, {.write = true, .create = true, .mode = mode});
  if (!fd) {
    return refused(fd.error());
  }
  const std::array<std::byte, 32> semaphore{};  // sizeof(sem_t)
  const auto size = put(caller, *description(caller, *fd)->inode, semaphore, 0);
  static_cast<void>(close(caller, *fd));
  if (!size) {
    static_cast<void>(unlink(caller, *path));
    return refused(size.error());
  }
  return {};
}

Answer<void> SimKernel::unlink_semaphore(SimProcess& caller, const std::string& name) {
  const auto path = shm_path(name, "sem.");
  return path ? without_eperm(unlink(caller, *path)) : refused(ENOENT);
}

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
  if (from->found->kind == os::FileKind::folder) {
    accesses.touch_all();  // The paths of all that is in it change.
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
  note_change_of_name(*from->folder, from->name);
  note_change_of_name(*to->folder, to->name);
  accesses.touch(Part::order, to->folder->number, Access::write);
  accesses.touch(Part::attributes, from->found->number, Access::write);
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
  accesses.touch(Part::attributes, from->found->number, Access::read);
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
  note_change_of_name(*to->folder, to->name);
  accesses.touch(Part::order, to->folder->number, Access::write);
  accesses.touch(Part::attributes, from->found->number, Access::write);
  ++from->found->names;
  to->folder->entries[to->name] = {.inode = from->found, .order = next_order_++};
  return {};
}

}  // namespace lastref::harness::sim
