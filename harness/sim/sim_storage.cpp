// Bytes of files in the simulated kernel: the offsets at which they are read and written, and the
// space that they take.
//
// The order of checks is that of fs/read_write.c, fs/sync.c and fs/open.c in Linux; space is
// accounted as in mm/shmem.c.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "harness/sim/sim_bytes.hpp"
#include "harness/sim/sim_kernel.hpp"

namespace lastref::harness::sim {
namespace {

constexpr std::uint64_t page_size = 4096;
/// For offsets and sizes, which are signed numbers in the kernel.
constexpr std::uint64_t offset_max = std::numeric_limits<std::int64_t>::max();
/// As statfs(2) reports them. A file system without limits here is a disk.
constexpr std::uint64_t tmpfs_magic = 0x01021994;
constexpr std::uint64_t ext4_magic = 0xef53;
constexpr std::uint64_t btrfs_magic = 0x9123683e;
constexpr std::uint64_t allocated_max = std::uint64_t{1} << 32U;
constexpr std::size_t storage_max = std::numeric_limits<std::size_t>::max();

/// The open description, if it has offsets; it is checked after the offset.
Answer<std::shared_ptr<Description>> file_with_offsets(const SimProcess& caller,
                                                       os::Fd fd,
                                                       std::uint64_t offset) {
  if (offset > offset_max) {
    return refused(EINVAL);
  }
  auto open = SimKernel::description(caller, fd);
  if (!open) {
    return refused(EBADF);
  }
  switch (open->kind) {
    case DescriptionKind::file:
      return open;
    case DescriptionKind::process:
      return refused(EINVAL);  // A file with offsets and no content: Linux 6.9.
    default:
      return refused(ESPIPE);
  }
}

/// Whether a hole can be made in what is open, if the range is valid.
Answer<void> may_have_holes(const Description& open) {
  switch (open.kind) {
    case DescriptionKind::file:
      return open.writable ? Answer<void>() : refused(EBADF);
    case DescriptionKind::pipe_read:
      return refused(EBADF);
    case DescriptionKind::pipe_write:
      return refused(ESPIPE);
    case DescriptionKind::socket:
    case DescriptionKind::stream:
      return refused(ENODEV);
    case DescriptionKind::process:
      break;
  }
  return {};
}

/// The errors of fallocate(2) that precede the checks of the file.
Answer<void> may_change_space(const Description& open, std::uint64_t offset, std::uint64_t size) {
  if (offset > offset_max || size == 0 || size > offset_max) {
    return refused(EINVAL);
  }
  if (auto possible = may_have_holes(open); !possible) {
    return possible;
  }
  if (size > offset_max - offset) {
    return refused(EFBIG);
  }
  return open.kind == DescriptionKind::file ? Answer<void>() : refused(EOPNOTSUPP);
}

}  // namespace

void SimKernel::note_storage() const {
  if (limits.bytes != SimLimits{}.bytes || limits.inodes != SimLimits{}.inodes ||
      limits.copying_bytes) {
    accesses.touch(Shared::storage, Access::write);
  }
}

void SimKernel::note_read(const Inode& inode, std::uint64_t offset, std::uint64_t size) const {
  const std::uint64_t end = std::min<std::uint64_t>(offset + size, inode.bytes.size());
  accesses.touch(Part::size, inode.number, Access::read);
  accesses.touch_range(Part::content, inode.number, Access::read, offset, end);
}

// While a file is mapped, other processes may see its bytes late, and it has little space to grow.
void SimKernel::note_change(const Inode& inode, std::uint64_t offset, std::uint64_t size) const {
  const bool grows = offset + size > inode.bytes.size();
  accesses.touch(Part::size, inode.number, grows ? Access::write : Access::read);
  accesses.touch(Part::maps, inode.number, Access::read);
  accesses.touch_range(Part::content, inode.number, Access::write, offset, offset + size);
  note_storage();
}

void SimKernel::settle(const Inode& inode, std::uint64_t offset, std::uint64_t size) {
  if (late.has_any(inode, offset, size)) {
    accesses.touch_all();  // It makes all bytes of these stores visible.
    late.settle(inode, offset, size);
  }
}

bool SimKernel::has_no_space_for_stores(const Inode& inode) const noexcept {
  return inode.device != first_device && limits.copying_bytes &&
         elsewhere_bytes_ + page_size > *limits.copying_bytes;
}

/// Takes pages for the bytes, and returns how many of them there is space for.
std::size_t SimKernel::take_pages(Inode& inode, std::uint64_t offset, std::size_t size) {
  const bool is_here = inode.device == first_device;
  std::size_t& taken = is_here ? bytes_ : elsewhere_bytes_;
  const std::size_t most = is_here ? limits.bytes : limits.copying_bytes.value_or(storage_max);
  const std::uint64_t last = (offset + size - 1) / page_size;
  inode.pages.resize(std::max<std::size_t>(inode.pages.size(), last + 1));
  for (std::uint64_t page = offset / page_size; page <= last; ++page) {
    if (inode.pages[page]) {
      continue;
    }
    if (taken + page_size > most) {
      return page * page_size > offset ? page * page_size - offset : 0;
    }
    inode.pages[page] = true;
    taken += page_size;
  }
  return size;
}

void SimKernel::give_pages_back(Inode& inode, std::uint64_t first, std::uint64_t end) {
  std::size_t& taken = inode.device == first_device ? bytes_ : elsewhere_bytes_;
  for (std::uint64_t page = first; page < std::min<std::uint64_t>(end, inode.pages.size());
       ++page) {
    taken -= inode.pages[page] ? page_size : 0;
    inode.pages[page] = false;
  }
}

Answer<std::size_t> SimKernel::put(const SimProcess& caller,
                                   Inode& inode,
                                   os::Bytes bytes,
                                   std::uint64_t offset) {
  if (bytes.empty()) {
    return 0;
  }
  if (offset >= caller.file_size_max) {
    return refused(EFBIG);
  }
  const std::size_t wanted = std::min<std::uint64_t>(bytes.size(), caller.file_size_max - offset);
  if (offset + wanted > inode.bytes.capacity() && !inode.pinned.expired()) {
    return refused(ENOSPC);
  }
  const std::size_t size = take_pages(inode, offset, wanted);
  if (size == 0) {
    return refused(ENOSPC);
  }
  inode.bytes.resize(std::max<std::size_t>(inode.bytes.size(), offset + size));
  std::memcpy(inode.bytes.data() + offset, bytes.data(), size);
  return size;
}

Answer<std::size_t> SimKernel::store(const SimProcess& caller,
                                     const std::shared_ptr<Inode>& inode,
                                     os::Bytes bytes,
                                     std::uint64_t offset) {
  note_change(*inode, offset, bytes.size());
  if (inode->pinned.expired()) {
    return put(caller, *inode, bytes, offset);
  }
  settle(*inode, offset, bytes.size());
  std::string before =
      inode->bytes.substr(std::min<std::size_t>(offset, inode->bytes.size()), bytes.size());
  const auto size = put(caller, *inode, bytes, offset);
  if (size) {
    before.resize(*size);  // Bytes after the previous end read as zeros.
    late.add(caller, inode, offset, std::move(before), inode->bytes.substr(offset, *size));
  }
  return size;
}

Answer<std::size_t> SimKernel::write_at(SimProcess& caller,
                                        os::Fd fd,
                                        os::Bytes bytes,
                                        std::uint64_t offset) {
  const auto found = file_with_offsets(caller, fd, offset);
  if (!found) {
    return refused(found.error());
  }
  const Description& open = **found;
  if (!open.writable) {
    return refused(EBADF);
  }
  if (bytes.size() > offset_max - offset) {
    return refused(EINVAL);
  }
  // Linux appends regardless of the offset. pwrite(2), BUGS.
  return store(caller, open.inode, bytes, open.append ? open.inode->bytes.size() : offset);
}

Answer<std::size_t> SimKernel::read_at(SimProcess& caller,
                                       os::Fd fd,
                                       os::Buffer into,
                                       std::uint64_t offset) {
  const auto found = file_with_offsets(caller, fd, offset);
  if (!found) {
    return refused(found.error());
  }
  if (into.size() > offset_max - offset) {
    return refused(EINVAL);
  }
  const Inode& inode = *(*found)->inode;
  if (inode.kind == os::FileKind::folder) {
    return refused(EISDIR);
  }
  note_read(inode, offset, into.size());
  settle(inode, offset, into.size());
  const std::string_view bytes = inode.bytes;
  return copy_out(bytes.substr(std::min<std::uint64_t>(offset, bytes.size())), into);
}

Answer<void> SimKernel::sync(SimProcess& caller, os::Fd fd) {
  const auto open = description(caller, fd);
  if (!open) {
    return refused(EBADF);
  }
  // Nothing to do: written data is never lost here.
  return open->kind == DescriptionKind::file ? Answer<void>() : refused(EINVAL);
}

Answer<void> SimKernel::allocate(SimProcess& caller,
                                 os::Fd fd,
                                 std::uint64_t offset,
                                 std::uint64_t size) {
  const auto open = description(caller, fd);
  if (!open) {
    return refused(EBADF);
  }
  if (auto possible = may_change_space(*open, offset, size); !possible) {
    return possible;
  }
  Inode& inode = *open->inode;
  note_change(inode, offset, size);
  const std::uint64_t end = offset + size;
  if (end > caller.file_size_max && end > inode.bytes.size()) {
    return refused(EFBIG);
  }
  // More than there is memory for, even if there were space.
  if (end > allocated_max || (end > inode.bytes.capacity() && !inode.pinned.expired())) {
    return refused(ENOSPC);
  }
  const std::vector<bool> before = inode.pages;
  if (take_pages(inode, offset, size) < size) {
    for (std::uint64_t page = 0; page < inode.pages.size(); ++page) {
      if (page >= before.size() || !before[page]) {
        give_pages_back(inode, page, page + 1);
      }
    }
    return refused(ENOSPC);
  }
  inode.bytes.resize(std::max<std::size_t>(inode.bytes.size(), end));
  return {};
}

Answer<void> SimKernel::punch_hole(SimProcess& caller,
                                   os::Fd fd,
                                   std::uint64_t offset,
                                   std::uint64_t size) {
  const auto open = description(caller, fd);
  if (!open) {
    return refused(EBADF);
  }
  if (auto possible = may_change_space(*open, offset, size); !possible) {
    return possible;
  }
  Inode& inode = *open->inode;
  const std::uint64_t end = offset + size;
  note_change(inode, offset, size);
  // Otherwise a store that the caller does not see yet would fill the hole again.
  settle(inode, offset, size);
  if (offset < inode.bytes.size()) {
    // In place, so that maps see it.
    std::memset(
        inode.bytes.data() + offset, 0, std::min<std::uint64_t>(end, inode.bytes.size()) - offset);
  }
  give_pages_back(inode, (offset + page_size - 1) / page_size, end / page_size);
  return {};
}

Answer<SimKernel::Walk> SimKernel::walk_through(const SimProcess& caller,
                                                const std::string& path) const {
  auto at = walk(caller, path);
  int links = 0;
  while (at && at->found && at->found->kind == os::FileKind::symlink) {
    if (auto followed = follow(caller, *at, links); !followed) {
      return refused(followed.error());
    }
  }
  if (at && !at->found) {
    return refused(ENOENT);
  }
  return at;
}

Answer<std::uint64_t> SimKernel::free_space(SimProcess& caller, const std::string& path) const {
  const auto at = walk_through(caller, path);
  if (!at) {
    return refused(at.error());
  }
  if (at->found->device != first_device) {
    return offset_max;
  }
  return std::min<std::uint64_t>(limits.bytes - std::min(limits.bytes, bytes_), offset_max);
}

Answer<std::uint64_t> SimKernel::file_system(SimProcess& caller, const std::string& path) const {
  const auto at = walk_through(caller, path);
  if (!at) {
    return refused(at.error());
  }
  if (at->found->device == first_device) {
    return tmpfs_magic;
  }
  return limits.copying_bytes ? btrfs_magic : ext4_magic;
}

}  // namespace lastref::harness::sim
