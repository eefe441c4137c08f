// Maps of the simulated kernel.
//
// A shared map is the file's own bytes, so a store of one process is visible to all at once. The
// bytes get space to grow when the first process maps them, and do not move until the last map is
// removed.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "harness/sim/sim_kernel.hpp"

namespace lastref::harness::sim {
namespace {

constexpr std::uint64_t page_size = 4096;
constexpr int bus_error = 7;                                     // SIGBUS
constexpr std::uint64_t map_size_max = std::uint64_t{1} << 32U;  // Far above what a run uses.

/// The bytes of a file from `offset`, and zeros after its end.
std::vector<std::byte> copy_of(const Inode& inode, std::uint64_t offset, std::size_t size) {
  std::vector<std::byte> copy(size);
  const os::Bytes bytes = std::as_bytes(std::span(inode.bytes));
  if (offset < bytes.size()) {
    const std::size_t count = std::min<std::size_t>(size, bytes.size() - offset);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), count, copy.begin());
  }
  return copy;
}

/// Keeps the file's bytes in place; nullptr if they would have to move.
std::shared_ptr<const bool> pin(Inode& inode, std::size_t size, std::size_t growth) {
  if (auto pinned = inode.pinned.lock()) {
    return inode.bytes.capacity() < size ? nullptr : std::move(pinned);
  }
  const std::size_t length = inode.bytes.size();
  // The bytes after the end of the file read as zeros.
  inode.bytes.resize(std::max(size, length) + growth);
  inode.bytes.resize(length);
  auto made = std::make_shared<const bool>(true);
  inode.pinned = made;
  return made;
}

}  // namespace

Answer<os::Buffer> SimKernel::map(SimProcess& caller, const os::MapOptions& options) {
  if (options.offset % page_size != 0) {
    return refused(EINVAL);
  }
  if (options.size > map_size_max || options.offset > map_size_max) {
    return refused(ENOMEM);
  }
  Map map;
  if (options.file == os::Fd::none) {
    if (options.size == 0) {
      return refused(EINVAL);
    }
    map.own.resize(options.size);
  } else {
    const auto open = description(caller, options.file);
    if (!open) {
      return refused(EBADF);
    }
    if (options.size == 0) {
      return refused(EINVAL);
    }
    const bool shared = options.kind == os::MapKind::shared;
    if ((shared && !open->writable) || open->kind == DescriptionKind::pipe_write) {
      return refused(EACCES);
    }
    if (open->kind != DescriptionKind::file || open->inode->kind != os::FileKind::regular) {
      return refused(ENODEV);
    }
    // A read-only map must show what others write, so it is the file's own bytes, too.
    if (options.kind == os::MapKind::copy_on_write) {
      note_read(*open->inode, options.offset, options.size);
      settle(*open->inode, options.offset, options.size);
      map.own = copy_of(*open->inode, options.offset, options.size);
    } else {
      // The first map decides how far the file may grow. While it is mapped, another one changes
      // only which processes see stores late.
      accesses.touch(Part::size, open->inode->number, Access::read);
      accesses.touch(Part::maps,
                     open->inode->number,
                     open->inode->pinned.expired() ? Access::write : Access::add);
      map.pin = pin(*open->inode, options.offset + options.size, limits.mapped_growth);
      if (!map.pin) {
        return refused(ENOMEM);
      }
      map.inode = open->inode;
      std::byte* const first = std::as_writable_bytes(std::span(map.inode->bytes)).data();
      map.bytes = os::Buffer(first + options.offset, options.size);
    }
  }
  if (!map.inode) {
    map.bytes = map.own;
  }
  caller.maps.push_back(std::move(map));
  return caller.maps.back().bytes;
}

void SimKernel::note_unmap(const Map& map) const {
  if (map.inode) {
    accesses.touch(
        Part::maps, map.inode->number, map.pin.use_count() == 1 ? Access::write : Access::add);
  }
}

Answer<void> SimKernel::unmap(SimProcess& caller, os::Buffer mapped) {
  const auto found = std::find_if(caller.maps.begin(), caller.maps.end(), [&](const Map& map) {
    return map.bytes.data() == mapped.data() && map.bytes.size() == mapped.size();
  });
  if (found == caller.maps.end()) {
    return refused(EINVAL);
  }
  note_unmap(*found);
  caller.maps.erase(found);
  return {};
}

void SimKernel::touch(SimProcess& caller,
                      const os::WordAccess& access,
                      const std::function<bool()>& is_late) {
  for (const Map& map : caller.maps) {
    const auto* const first = map.bytes.data();
    if (map.inode && access.at >= first && access.at < first + map.bytes.size()) {
      const auto* const file =
          static_cast<const std::byte*>(static_cast<const void*>(map.inode->bytes.data()));
      const auto offset = static_cast<std::uint64_t>(access.at - file);
      const bool reads_only = access.step == Step::word_load;
      accesses.touch_range(Part::content,
                           map.inode->number,
                           reads_only ? Access::read : Access::write,
                           offset,
                           offset + sizeof(std::uint64_t));
      if (!reads_only) {
        note_storage();
      }
      if (!reads_only && late.has_any(*map.inode, offset, sizeof(std::uint64_t))) {
        accesses.touch_all();  // As in `settle`, which a store to a word does itself.
      }
      if (!reads_only && has_no_space_for_stores(*map.inode)) {
        caller.doomed = true;
        caller.exit = {.code = bus_error, .killed = true};
        return;
      }
      late.touch(caller, map.inode, offset, access, is_late);
      return;
    }
  }
}

}  // namespace lastref::harness::sim
