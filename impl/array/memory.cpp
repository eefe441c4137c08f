#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include <lastref/memory.hpp>

#include "impl/array/own_file.hpp"
#include "impl/os/extend.hpp"
#include "impl/os/with_path.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref {
namespace {

constexpr std::align_val_t alignment{64};
constexpr std::uint64_t file_size_max = std::numeric_limits<std::int64_t>::max();

struct ModeRow {
  MapMode mode;
  std::string_view name;
  os::MapKind kind;
};

constexpr std::array modes = {
    ModeRow{MapMode::read, "r", os::MapKind::read},
    ModeRow{MapMode::read_write, "r+", os::MapKind::shared},
    ModeRow{MapMode::create, "w+", os::MapKind::shared},
    ModeRow{MapMode::copy_on_write, "c", os::MapKind::copy_on_write},
};

const ModeRow& row_of(MapMode mode) noexcept {
  return *std::ranges::find(modes, mode, &ModeRow::mode);
}

tl::unexpected<Error> cannot_map(const char* reason) {
  return failure(std::errc::invalid_argument, reason);
}

/// Whether a file can be that long.
Status check_end(const MapFileOptions& options) {
  if (options.offset > file_size_max || options.size > file_size_max - options.offset) {
    return failure(std::errc::value_too_large, "the end of the range to map");
  }
  return ok();
}

/// Makes the file long enough for the map, with space for it: no store shall find the file system
/// full, which is SIGBUS.
Status reach(os::Os& os, os::Fd fd, const MapFileOptions& options, const os::FileStatus& status) {
  if (status.kind != os::FileKind::regular) {
    return cannot_map("only a regular file is mapped");
  }
  const std::uint64_t end = options.offset + options.size;
  if (status.size >= end) {
    return ok();
  }
  if (row_of(options.mode).kind != os::MapKind::shared) {
    return cannot_map("the file is too short");
  }
  return os::extend(os, fd, status.size, end);
}

Result<os::UniqueFd> open_for(os::Os& os, os::PathAt& where, MapMode mode) {
  if (mode != MapMode::create) {
    return array::open_named(os, where, {.write = mode == MapMode::read_write});
  }
  return array::open_in_place(os, where);
}

}  // namespace

std::string_view name_of(MapMode mode) noexcept {
  return row_of(mode).name;
}

std::optional<MapMode> map_mode_of(std::string_view name) noexcept {
  const auto found = std::ranges::find(modes, name, &ModeRow::name);
  return found == modes.end() ? std::nullopt : std::optional(found->mode);
}

void Memory::Deleter::operator()(std::byte* bytes) const noexcept {
  ::operator delete(bytes, alignment);
}

std::shared_ptr<Memory> Memory::make(Origin origin) {
  return std::shared_ptr<Memory>(new Memory(origin));
}

Result<MemoryRef> Memory::uninitialized(std::size_t size) {
  return os::within_memory("memory", [&]() -> Result<MemoryRef> {
    auto memory = make(Origin::allocated);
    // Nothing takes up a byte too, so that every array has an address of its own.
    void* const bytes = ::operator new(std::max<std::size_t>(size, 1), alignment, std::nothrow);
    if (bytes == nullptr) {
      return failure(std::errc::not_enough_memory, std::to_string(size) + " bytes");
    }
    memory->allocated_.reset(static_cast<std::byte*>(bytes));
    memory->bytes_ = os::Buffer(memory->allocated_.get(), size);
    return MemoryRef(std::move(memory));
  });
}

Result<MemoryRef> Memory::zeros(std::size_t size) {
  LASTREF_TRY(memory, uninitialized(size));
  std::ranges::fill(memory->bytes_, std::byte{0});
  return memory;
}

MemoryRef Memory::wrap(os::Buffer bytes, std::shared_ptr<const void> keeper) {
  auto memory = make(Origin::external);
  memory->bytes_ = bytes;
  memory->keeper_ = std::move(keeper);
  return memory;
}

MemoryRef Memory::wrap(os::Bytes bytes, std::shared_ptr<const void> keeper) {
  auto memory = make(Origin::external);
  // Stored as writable, like the other kinds; but it is never written to.
  memory->bytes_ = os::Buffer(const_cast<std::byte*>(bytes.data()), bytes.size());
  memory->writable_ = false;
  memory->keeper_ = std::move(keeper);
  return memory;
}

Result<MemoryRef> Memory::map_anonymous(os::Os& os, std::size_t size) {
  return os::within_memory("a map", [&]() -> Result<MemoryRef> {
    LASTREF_TRY(map, os::map_memory(os, {.size = size, .kind = os::MapKind::shared}));
    auto memory = make(Origin::anonymous_map);
    memory->map_ = std::move(map);
    memory->bytes_ = memory->map_.get();
    return MemoryRef(std::move(memory));
  });
}

Result<MemoryRef> Memory::map_open(os::Os& os,
                                   os::Fd fd,
                                   std::string path,
                                   MapFileOptions options) {
  return os::within_memory("a map", [&]() -> Result<MemoryRef> {
    LASTREF_TRY(status, os::with_path(path, os.status(fd)));
    return map_open(os, fd, std::move(path), std::move(options), status);
  });
}

Result<MemoryRef> Memory::map_open(
    os::Os& os, os::Fd fd, std::string path, MapFileOptions options, const os::FileStatus& status) {
  return os::within_memory("a map", [&]() -> Result<MemoryRef> {
    LASTREF_CHECK(check_end(options));
    LASTREF_CHECK(os::with_path(path, reach(os, fd, options, status)));
    auto memory = make(Origin::file_map);
    if (options.size > 0) {
      const auto before = static_cast<std::size_t>(options.offset % os::map_alignment);
      LASTREF_TRY(map,
                  os::with_path(path,
                                os::map_memory(os,
                                               {.file = fd,
                                                .offset = options.offset - before,
                                                .size = before + options.size,
                                                .kind = row_of(options.mode).kind})));
      memory->map_ = std::move(map);
      memory->bytes_ = memory->map_.get().subspan(before);
    }
    memory->writable_ = options.mode != MapMode::read;
    memory->file_ = {.path = std::move(path),
                     .mode = options.mode,
                     .offset = options.offset,
                     .identity = os::identity_of(status)};
    memory->when_unmapped_ = std::move(options.when_unmapped);
    return MemoryRef(std::move(memory));
  });
}

Result<MemoryRef> Memory::map_file(os::Os& os, const os::PathAt& where, MapFileOptions options) {
  return os::within_memory("a map", [&]() -> Result<MemoryRef> {
    const MapMode mode = options.mode;
    LASTREF_CHECK(check_end(options));  // Before a file is deleted to make room for a new one.
    LASTREF_TRY(path, array::path_of(os, where));
    os::PathAt named = where;
    LASTREF_TRY(file, open_for(os, named, mode));
    if (named.path != where.path) {
      LASTREF_TRY(target, array::path_of(os, named));
      path = std::move(target);
    }
    auto memory = map_open(os, file.get(), std::move(path), std::move(options));
    if (!memory && mode == MapMode::create) {
      array::discard_own_quietly(os, file.get(), where);
    }
    return memory;
  });
}

Memory::~Memory() {
  map_.unmap_quietly();
  if (when_unmapped_) {
    when_unmapped_();
  }
}

}  // namespace lastref
