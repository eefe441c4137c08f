#include "property_tests/fuzz/file_os.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "property_tests/fuzz/fuzz.hpp"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif
#endif
#ifndef ASAN_POISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(at, size) (static_cast<void>(at), static_cast<void>(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) (static_cast<void>(at), static_cast<void>(size))
#endif

namespace lastref::fuzz {
namespace {

constexpr int first_fd = 3;
/// bytes by which a file may grow while a map extends past its end
constexpr std::size_t growth_most = 1024;

}  // namespace

const std::vector<std::byte>& FileOs::content() noexcept {
  for (const auto& [at, map] : maps_) {
    if (map.is_shared) {
      std::copy_n(at, map.size, content_.begin() + static_cast<std::ptrdiff_t>(map.offset));
    }
  }
  return content_;
}

Result<os::Fd> FileOs::open(const os::PathAt& where, const os::OpenOptions& options) noexcept {
  expect(!options.create && !options.folder, "a reader opens a file that is there");
  opened.push_back(where.path);
  int fd = first_fd;
  while (positions_.contains(static_cast<os::Fd>(fd))) {
    ++fd;
  }
  positions_[static_cast<os::Fd>(fd)] = 0;
  return static_cast<os::Fd>(fd);
}

Status FileOs::close(os::Fd fd) noexcept {
  expect(positions_.erase(fd) == 1, "a descriptor is closed once");
  return ok();
}

std::size_t FileOs::copy_to(os::Buffer into, std::uint64_t offset) noexcept {
  const os::Bytes all = content();
  const os::Bytes rest = all.subspan(std::min<std::uint64_t>(all.size(), offset));
  const std::size_t count = std::min({into.size(), read_most, rest.size()});
  std::ranges::copy(rest.first(count), into.begin());
  return count;
}

Result<std::size_t> FileOs::read(os::Fd fd, os::Buffer into) noexcept {
  const auto found = positions_.find(fd);
  expect(found != positions_.end(), "what is read is open");
  const std::size_t count = copy_to(into, found->second);
  found->second += count;
  return count;
}

Result<std::size_t> FileOs::read_at(os::Fd fd, os::Buffer into, std::uint64_t offset) noexcept {
  expect(positions_.contains(fd), "what is read is open");
  return copy_to(into, offset);
}

Result<std::size_t> FileOs::write_at(os::Fd fd, os::Bytes bytes, std::uint64_t offset) noexcept {
  expect(positions_.contains(fd), "what is written is open");
  const std::size_t size = content().size();
  expect(grows || offset <= size, "no hole is written");
  if (offset > size_most || bytes.size() > size_most - offset) {
    return failure(std::errc::file_too_large, "the file");
  }
  ++written;
  content_.resize(std::max(size, offset + bytes.size()));
  std::ranges::copy(bytes, content_.begin() + static_cast<std::ptrdiff_t>(offset));
  for (auto& [at, map] : maps_) {
    show(map);
  }
  return bytes.size();
}

Status FileOs::sync(os::Fd fd) noexcept {
  expect(positions_.contains(fd), "what is synced is open");
  return ok();
}

Status FileOs::punch_hole(os::Fd fd, std::uint64_t offset, std::uint64_t size) noexcept {
  expect(positions_.contains(fd), "what is emptied is open");
  const std::size_t end = content().size();
  const auto at = std::min<std::uint64_t>(offset, end);
  std::fill_n(content_.begin() + static_cast<std::ptrdiff_t>(at),
              std::min<std::uint64_t>(size, end - at),
              std::byte{0});
  for (auto& [start, map] : maps_) {
    show(map);
  }
  return ok();
}

Result<os::FileStatus> FileOs::status(os::Fd fd) noexcept {
  expect(positions_.contains(fd), "what is asked for is open");
  return os::FileStatus{.device = 1,
                        .inode = 1,
                        .size = content_.size(),
                        .mode = 0600,
                        .kind = os::FileKind::regular};
}

/// Copies the part of the map that is in the file, and makes the rest inaccessible.
void FileOs::show(Map& map) const noexcept {
  map.size = std::min(map.size_max, content_.size() - map.offset);
  ASAN_UNPOISON_MEMORY_REGION(map.bytes.get(), map.size);
  std::copy_n(
      content_.begin() + static_cast<std::ptrdiff_t>(map.offset), map.size, map.bytes.get());
  ASAN_POISON_MEMORY_REGION(map.bytes.get() + map.size, map.size_max - map.size);
}

Result<os::Buffer> FileOs::map(const os::MapOptions& options) noexcept {
  expect(positions_.contains(options.file), "what is mapped is open");
  expect(options.size > 0, "something is mapped");
  expect(options.offset % os::map_alignment == 0, "a map starts where maps can start");
  const std::size_t file_size = content().size();
  expect(options.offset <= file_size, "a map starts within the file");
  expect(grows || options.size <= file_size - options.offset, "a map ends within the file");
  const bool is_shared = options.kind == os::MapKind::shared;
  expect(!is_shared ||
             std::ranges::none_of(maps_, [](const auto& each) { return each.second.is_shared; }),
         "one map at a time is shared");
  Map made{.bytes = nullptr,
           .offset = static_cast<std::size_t>(options.offset),
           .size_max = std::min(options.size, file_size - options.offset + growth_most),
           .is_shared = is_shared};
  made.bytes = std::make_unique<std::byte[]>(made.size_max);
  show(made);
  const os::Buffer mapped(made.bytes.get(), options.size);
  maps_[mapped.data()] = std::move(made);
  return mapped;
}

Status FileOs::unmap(os::Buffer mapped) noexcept {
  static_cast<void>(content());
  expect(maps_.erase(mapped.data()) == 1, "a map is unmapped once");
  return ok();
}

}  // namespace lastref::fuzz
