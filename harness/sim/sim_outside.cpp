#include "harness/sim/sim_outside.hpp"

#include <algorithm>
#include <cerrno>

namespace lastref::harness::sim {

void SimKernel::mount(const std::string& folder) {
  SimProcess any_process;
  const auto at = walk(any_process, folder);
  LASTREF_ASSERT(at && at->found);
  constexpr std::uint64_t another_device = 3;
  at->found->device = another_device;
}

Answer<void> SimKernel::force_mode(SimProcess& caller,
                                   const os::PathAt& where,
                                   std::uint32_t mode) {
  const auto at = walk(caller, where);
  if (!at) {
    return refused(at.error());
  }
  if (!at->found) {
    return refused(ENOENT);
  }
  at->found->mode = mode & 07777U;
  return {};
}

Answer<std::size_t> SimKernel::replace_file(SimProcess& caller,
                                            const os::PathAt& where,
                                            os::Bytes bytes) {
  auto at = walk(caller, where);
  if (!at) {
    return refused(at.error());
  }
  std::shared_ptr<Inode> file = at->found;
  if (!file) {
    const auto fresh = entry_for_new(caller, where);
    if (!fresh) {
      return refused(fresh.error());
    }
    file = link(caller, *fresh, os::FileKind::regular, 0600);
  }
  switch (file->kind) {
    case os::FileKind::regular:
      break;
    case os::FileKind::folder:
      return refused(EISDIR);
    case os::FileKind::symlink:
      return refused(ELOOP);
    default:
      return refused(ENXIO);
  }
  late.settle(*file, 0, file->bytes.size());
  give_pages_back(*file, 0, file->pages.size());
  file->bytes.clear();
  return put(caller, *file, bytes, 0);
}

Answer<bool> SimKernel::is_locked_folder(const SimProcess& caller, const std::string& path) const {
  const auto at = walk(caller, path);
  if (!at) {
    return refused(at.error());
  }
  return at->found && !at->found->locked.expired();
}

bool SimOutside::is_locked(const std::string& folder) {
  return run_.machine.kernel.is_locked_folder(*run_.maker, folder).value_or(false);
}

void SimOutside::change_mode(const std::string& path, std::uint32_t mode) {
  static_cast<void>(run_.machine.kernel.force_mode(*run_.maker, path, mode));
}

bool SimOutside::unlink(const std::string& path) {
  return run_.machine.kernel.unlink(*run_.maker, path).has_value();
}

bool SimOutside::rmdir(const std::string& path) {
  return run_.machine.kernel.remove_folder(*run_.maker, path).has_value();
}

bool SimOutside::make_folder(const std::string& path, std::uint32_t mode) {
  return run_.machine.kernel.make_folder(*run_.maker, path, mode).has_value();
}

bool SimOutside::symlink(const std::string& target, const std::string& path) {
  return run_.machine.kernel.make_symlink(*run_.maker, path, target).has_value();
}

bool SimOutside::write(const std::string& path, const std::string& bytes) {
  run_.note(member_, RecordKind::fact, fact::outside, path);
  const os::Bytes content = std::as_bytes(std::span(bytes));
  return run_.machine.kernel.replace_file(*run_.maker, path, content) == bytes.size();
}

bool SimOutside::leave_messages_unread() {
  member_.system->process().is_unread = true;
  return true;
}

void SimOutside::read_messages_again() {
  member_.system->process().is_unread = false;
}

bool SimOutside::reuse_pid(os::Pid pid) {
  if (const auto dead = run_.machine.kernel.find(pid);
      dead && dead->state == SimProcess::State::zombie) {
    dead->state = SimProcess::State::reaped;
  }
  run_.machine.kernel.go_on_from(pid);
  return true;
}

std::vector<std::string> SimOutside::list(const std::string& folder) {
  SimKernel& kernel = run_.machine.kernel;
  std::vector<std::string> names;
  const auto open = kernel.open(*run_.maker, folder, {.folder = true});
  if (!open) {
    return names;
  }
  for (auto entries = kernel.read_folder(*run_.maker, *open); entries && !entries->empty();
       entries = kernel.read_folder(*run_.maker, *open)) {
    for (const os::FolderEntry& entry : *entries) {
      names.push_back(entry.name);
    }
  }
  static_cast<void>(kernel.close(*run_.maker, *open));
  std::ranges::sort(names);
  return names;
}

}  // namespace lastref::harness::sim
