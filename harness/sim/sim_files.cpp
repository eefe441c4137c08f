// Files and folders of the simulated kernel.
#include <algorithm>
#include <cerrno>

#include "harness/sim/sim_access.hpp"
#include "harness/sim/sim_kernel.hpp"

namespace lastref::harness::sim {
namespace {

constexpr std::size_t path_size_max = 4096;  // with its NUL; PATH_MAX
constexpr std::size_t name_size_max = 255;   // NAME_MAX
constexpr int links_max = 40;                // path_resolution(7)
// KernelOs reads this many bytes of entries at a time. Each entry takes 19 bytes and its name with
// a NUL, rounded up to 8; "." and ".." come first. getdents64(2).
constexpr std::size_t folder_buffer_size = 8192;
constexpr std::size_t dots_size = 48;

std::size_t size_of_entry(const std::string& name) {
  return (19 + name.size() + 1 + 7) / 8 * 8;
}

os::FileStatus status_of(const Inode& inode) {
  return {.device = inode.device,
          .inode = inode.number,
          .size = inode.kind == os::FileKind::folder ? 40 + 20 * inode.entries.size()
                                                     : inode.bytes.size(),
          .mode = inode.mode,
          .owner = inode.owner,
          .kind = inode.kind,
          .btime = inode.btime};
}

}  // namespace

Answer<void> SimKernel::descend(const SimProcess& caller,
                                Walk& at,
                                std::string_view path,
                                int& links) const {
  while (!path.empty()) {
    const std::size_t start = path.find_first_not_of('/');
    if (start == std::string_view::npos) {
      at.slash = true;
      return {};
    }
    path.remove_prefix(start);
    const std::string name(path.substr(0, path.find('/')));
    path.remove_prefix(name.size());
    if (!at.found) {
      return refused(ENOENT);
    }
    if (at.found->kind == os::FileKind::symlink) {
      if (auto followed = follow(caller, at, links); !followed) {
        return followed;
      }
      if (!at.found) {
        return refused(ENOENT);
      }
    }
    if (at.found->kind != os::FileKind::folder) {
      return refused(ENOTDIR);
    }
    accesses.touch(Part::attributes, at.found->number, Access::read);
    if (!may(caller, *at.found, to_search)) {
      return refused(EACCES);
    }
    if (name.size() > name_size_max) {
      return refused(ENAMETOOLONG);
    }
    at.folder = at.found;
    at.name = name;
    at.last = name == "." ? Last::dot : name == ".." ? Last::dot_dot : Last::normal;
    if (at.last == Last::dot_dot) {
      const auto parent = at.folder->parent.lock();
      at.found = parent ? parent : at.folder;
    } else if (at.last == Last::normal) {
      accesses.touch(Part::entry, at.folder->number, Access::read, name);
      const auto entry = at.folder->entries.find(name);
      at.found = entry == at.folder->entries.end() ? nullptr : entry->second.inode;
    }
  }
  return {};
}

Answer<void> SimKernel::follow(const SimProcess& caller, Walk& at, int& links) const {
  if (++links > links_max) {
    return refused(ELOOP);
  }
  const std::string target = at.found->bytes;
  at.found = target.front() == '/' ? root_ : at.folder;
  return descend(caller, at, target, links);
}

Answer<SimKernel::Walk> SimKernel::walk_to_name(const SimProcess& caller,
                                                const os::PathAt& where) const {
  const std::string& path = where.path;
  if (path.size() >= path_size_max) {
    return refused(ENAMETOOLONG);
  }
  if (path.empty()) {
    return refused(ENOENT);
  }
  if (path.find('\0') != std::string::npos) {
    return refused(EINVAL);
  }
  std::shared_ptr<Inode> start = root_;
  if (path.front() != '/' && where.folder != os::Fd::current_folder) {
    const auto description = this->description(caller, where.folder);
    if (!description) {
      return refused(EBADF);
    }
    if (!description->inode || description->inode->kind != os::FileKind::folder) {
      return refused(ENOTDIR);
    }
    start = description->inode;
  } else if (path.front() != '/' && caller.working_folder != "/") {
    const auto at = walk_to_name(caller, caller.working_folder);
    if (!at || !at->found) {
      return refused(ENOENT);
    }
    start = at->found;
  }
  Walk at{.folder = start, .name = {}, .found = start, .last = Last::root, .slash = false};
  int links = 0;
  if (auto done = descend(caller, at, path, links); !done) {
    return refused(done.error());
  }
  return at;
}

Answer<SimKernel::Walk> SimKernel::walk(const SimProcess& caller, const os::PathAt& where) const {
  auto at = walk_to_name(caller, where);
  if (at && at->slash && at->found && at->found->kind != os::FileKind::folder) {
    return refused(ENOTDIR);
  }
  return at;
}

Answer<SimKernel::Walk> SimKernel::entry_for_new(const SimProcess& caller,
                                                 const os::PathAt& where) const {
  auto at = walk(caller, where);
  if (!at) {
    return at;
  }
  if (at->found) {
    return refused(EEXIST);
  }
  if (!may(caller, *at->folder, to_write | to_search)) {
    return refused(EACCES);
  }
  if (!at->folder->linked) {
    return refused(ENOENT);
  }
  note_storage();
  if (at->folder->device == first_device && inodes_ >= limits.inodes) {
    return refused(ENOSPC);
  }
  return at;
}

std::shared_ptr<Inode> SimKernel::link(const SimProcess& caller,
                                       const Walk& at,
                                       os::FileKind kind,
                                       std::uint32_t mode) {
  note_change_of_name(*at.folder, at.name);
  // Listings show it, although processes that only make entries do not.
  accesses.touch(Part::order, at.folder->number, Access::write);
  auto inode = std::make_shared<Inode>();
  inode->number = next_inode_++;
  inode->kind = kind;
  inode->mode = mode & ~caller.umask & 07777U;
  inode->owner = caller.user;
  inode->device = at.folder->device;
  inode->btime = static_cast<std::uint64_t>(clock.count());
  inode->parent = at.folder;
  at.folder->entries[at.name] = {.inode = inode, .order = next_order_++};
  inodes_ += inode->device == first_device ? 1U : 0U;
  return inode;
}

void SimKernel::note_change_of_name(const Inode& folder, const std::string& name) const {
  accesses.touch(Part::entry, folder.number, Access::write, name);
  accesses.touch(Part::entries, folder.number, Access::add);
  accesses.touch(Shared::judged, Access::add);
}

void SimKernel::note_status(const Inode& inode) const {
  accesses.touch(Part::attributes, inode.number, Access::read);
  accesses.touch(Part::size, inode.number, Access::read);
  if (inode.kind == os::FileKind::folder) {
    accesses.touch(Part::entries, inode.number, Access::read);
  }
}

void SimKernel::unlink_at(const Walk& at) {
  note_change_of_name(*at.folder, at.name);
  accesses.touch(Part::attributes, at.found->number, Access::write);
  note_storage();
  at.folder->entries.erase(at.name);
  if (--at.found->names > 0) {
    return;
  }
  at.found->linked = false;
  inodes_ -= at.found->device == first_device ? 1U : 0U;
  // Too early for a file that is still open; nothing here counts that.
  give_pages_back(*at.found, 0, at.found->pages.size());
}

Answer<void> SimKernel::may_remove(const SimProcess& caller, const Walk& at) const {
  if (!may(caller, *at.folder, to_write | to_search)) {
    return refused(EACCES);
  }
  const bool sticky = (at.folder->mode & 01000U) != 0;
  if (sticky && caller.user != 0 && caller.user != at.found->owner &&
      caller.user != at.folder->owner) {
    return refused(EPERM);
  }
  return {};
}

Answer<os::Fd> SimKernel::open(SimProcess& caller,
                               const os::PathAt& where,
                               const os::OpenOptions& options) {
  if (!has_space(caller)) {
    return refused(EMFILE);
  }
  auto description = std::make_shared<Description>();
  description->kind = DescriptionKind::file;
  description->number = next_number_++;
  description->writable = options.write;
  description->append = options.append;
  if (options.create) {
    auto at = entry_for_new(caller, where);
    if (!at) {
      return refused(at.error());
    }
    if (at->slash) {
      return refused(EISDIR);
    }
    description->inode = link(caller, *at, os::FileKind::regular, options.mode);
    return install(caller, std::move(description));
  }
  const auto at = walk(caller, where);
  if (!at) {
    return refused(at.error());
  }
  if (!at->found) {
    return refused(ENOENT);
  }
  const Inode& inode = *at->found;
  accesses.touch(Part::attributes, inode.number, Access::read);
  if (inode.kind == os::FileKind::symlink) {
    return refused(options.folder ? ENOTDIR : ELOOP);
  }
  if (options.folder && inode.kind != os::FileKind::folder) {
    return refused(ENOTDIR);
  }
  if (options.write && inode.kind == os::FileKind::folder) {
    return refused(EISDIR);
  }
  if (!may(caller, inode, options.write ? to_read | to_write : to_read)) {
    return refused(EACCES);
  }
  if (inode.kind == os::FileKind::socket) {
    return refused(ENXIO);
  }
  description->inode = at->found;
  return install(caller, std::move(description));
}

Answer<os::FileStatus> SimKernel::status(SimProcess& caller, os::Fd fd) {
  const auto open = description(caller, fd);
  if (!open) {
    return refused(EBADF);
  }
  if (open->inode) {
    note_status(*open->inode);
    return status_of(*open->inode);
  }
  os::FileStatus status{.device = 2, .mode = 0600, .owner = caller.user};
  if (open->kind == DescriptionKind::socket) {
    status.kind = os::FileKind::socket;
    status.mode = 0777;
  }
  return status;
}

Answer<os::FileStatus> SimKernel::status_at(SimProcess& caller, const os::PathAt& where) {
  const auto at = walk(caller, where);
  if (!at) {
    return refused(at.error());
  }
  if (!at->found) {
    return refused(ENOENT);
  }
  note_status(*at->found);
  return status_of(*at->found);
}

Answer<void> SimKernel::unlink(SimProcess& caller, const os::PathAt& where) {
  const auto at = walk(caller, where);
  if (!at) {
    return refused(at.error());
  }
  if (at->last != Last::normal) {
    return refused(EISDIR);
  }
  if (!at->found) {
    return refused(ENOENT);
  }
  if (auto allowed = may_remove(caller, *at); !allowed) {
    return allowed;
  }
  if (at->found->kind == os::FileKind::folder) {
    return refused(EISDIR);
  }
  unlink_at(*at);
  return {};
}

Answer<void> SimKernel::make_folder(SimProcess& caller,
                                    const os::PathAt& where,
                                    std::uint32_t mode) {
  auto at = entry_for_new(caller, where);
  if (!at) {
    return refused(at.error());
  }
  link(caller, *at, os::FileKind::folder, mode & 01777U);
  return {};
}

Answer<void> SimKernel::make_symlink(SimProcess& caller,
                                     const os::PathAt& where,
                                     const std::string& target) {
  auto at = entry_for_new(caller, where);
  if (!at) {
    return refused(at.error());
  }
  if (target.empty()) {
    return refused(ENOENT);
  }
  auto inode = link(caller, *at, os::FileKind::symlink, 0777);
  inode->mode = 0777;
  inode->bytes = target;
  return {};
}

Answer<std::string> SimKernel::read_link(SimProcess& caller, const os::PathAt& where) const {
  const auto at = walk(caller, where);
  if (!at) {
    return refused(at.error());
  }
  if (!at->found) {
    return refused(ENOENT);
  }
  return at->found->kind == os::FileKind::symlink ? Answer<std::string>(at->found->bytes)
                                                  : refused(EINVAL);
}

Answer<void> SimKernel::change_mode(SimProcess& caller,
                                    const os::PathAt& where,
                                    std::uint32_t mode) {
  const auto at = walk(caller, where);
  if (!at) {
    return refused(at.error());
  }
  if (!at->found) {
    return refused(ENOENT);
  }
  if (at->found->kind == os::FileKind::symlink) {
    return refused(EOPNOTSUPP);
  }
  if (caller.user != 0 && caller.user != at->found->owner) {
    return refused(EPERM);
  }
  accesses.touch(Part::attributes, at->found->number, Access::write);
  at->found->mode = mode & 07777U;
  return {};
}

Answer<void> SimKernel::remove_folder(SimProcess& caller, const os::PathAt& where) {
  const auto at = walk(caller, where);
  if (!at) {
    return refused(at.error());
  }
  switch (at->last) {
    case Last::root:
      return refused(EBUSY);
    case Last::dot:
      return refused(EINVAL);
    case Last::dot_dot:
      return refused(ENOTEMPTY);
    case Last::normal:
      break;
  }
  if (!at->found) {
    return refused(ENOENT);
  }
  if (auto allowed = may_remove(caller, *at); !allowed) {
    return allowed;
  }
  if (at->found->kind != os::FileKind::folder) {
    return refused(ENOTDIR);
  }
  accesses.touch(Part::entries, at->found->number, Access::read);
  if (!at->found->entries.empty()) {
    return refused(ENOTEMPTY);
  }
  unlink_at(*at);
  return {};
}

Answer<std::vector<os::FolderEntry>> SimKernel::read_folder(SimProcess& caller, os::Fd folder) {
  const auto open = description(caller, folder);
  if (!open) {
    return refused(EBADF);
  }
  if (!open->inode || open->inode->kind != os::FileKind::folder) {
    return refused(ENOTDIR);
  }
  note_status(*open->inode);
  accesses.touch(Part::order, open->inode->number, Access::read);
  accesses.touch(Part::offset, open->number, Access::write);
  if (!open->inode->linked) {
    return refused(ENOENT);
  }
  // `offset` is one past the order of the entry read last, so 0 means from the newest.
  std::vector<std::pair<std::uint64_t, os::FolderEntry>> left;
  for (const auto& [name, entry] : open->inode->entries) {
    if (open->offset == 0 || entry.order + 1 < open->offset) {
      left.push_back({entry.order, {.name = name, .kind = entry.inode->kind}});
    }
  }
  std::sort(left.begin(), left.end(), [](const auto& one, const auto& other) {
    return one.first > other.first;
  });
  std::size_t space = folder_buffer_size - (open->offset == 0 ? dots_size : 0);
  std::vector<os::FolderEntry> entries;
  for (auto& [order, entry] : left) {
    const std::size_t size = size_of_entry(entry.name);
    if (size > space) {
      break;
    }
    space -= size;
    open->offset = order + 1;
    entries.push_back(std::move(entry));
  }
  if (entries.empty() && open->offset == 0) {
    open->offset = 1;  // At the end of an empty folder: entries added later are not seen.
  }
  return entries;
}

namespace {

/// Visits everything below a folder, each folder before its contents.
template <typename Visit>
void visit_below(const Inode& folder, const std::string& path, const Visit& visit) {
  for (const auto& [name, entry] : folder.entries) {
    const std::string below = std::string(path).append("/").append(name);
    visit(below, *entry.inode);
    visit_below(*entry.inode, below, visit);
  }
}

}  // namespace

void SimKernel::keep_what_is_there() {
  for (std::uint64_t number = 1; number < next_inode_; ++number) {
    first_inodes_.insert(number);
  }
}

std::vector<std::string> SimKernel::leftovers() const {
  std::vector<std::string> paths;
  visit_below(*root_, "", [&](const std::string& path, const Inode& inode) {
    if (!first_inodes_.contains(inode.number)) {
      paths.push_back(path);
    }
  });
  return paths;
}

void SimKernel::for_each_file(
    const std::function<void(const std::string&, const std::string&)>& look) const {
  visit_below(*root_, "", [&](const std::string& path, const Inode& inode) {
    if (inode.kind == os::FileKind::regular) {
      look(path, inode.bytes);
    }
  });
}

}  // namespace lastref::harness::sim
