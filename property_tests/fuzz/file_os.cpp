#include "property_tests/fuzz/file_os.hpp"

#include <algorithm>
#include <span>

#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

constexpr int first_fd = 3;

}  // namespace

Result<os::Fd> FileOs::open(const os::Place& place, const os::OpenOptions& options) noexcept {
  expect(!options.create && !options.folder, "a reader opens a file that is there");
  opened.push_back(place.path);
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

Result<std::size_t> FileOs::read(os::Fd fd, os::Buffer into) noexcept {
  const auto found = positions_.find(fd);
  expect(found != positions_.end(), "what is read is open");
  const std::size_t count =
      std::min({into.size(), read_most, content.size() - std::min(content.size(), found->second)});
  std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(found->second), count, into.begin());
  found->second += count;
  return count;
}

Result<std::size_t> FileOs::write_at(os::Fd fd, os::Bytes bytes, std::uint64_t offset) noexcept {
  expect(positions_.contains(fd), "what is written is open");
  expect(offset <= content.size(), "no hole is written");
  ++written;
  content.resize(std::max(content.size(), offset + bytes.size()));
  std::ranges::copy(bytes, content.begin() + static_cast<std::ptrdiff_t>(offset));
  return bytes.size();
}

Result<os::FileStatus> FileOs::status(os::Fd fd) noexcept {
  expect(positions_.contains(fd), "what is asked for is open");
  return os::FileStatus{
      .device = 1, .inode = 1, .size = content.size(), .mode = 0600, .kind = os::FileKind::regular};
}

Result<os::Buffer> FileOs::map(const os::MapOptions& options) noexcept {
  expect(positions_.contains(options.file), "what is mapped is open");
  expect(options.size > 0, "something is mapped");
  expect(options.offset % os::map_alignment == 0, "a map starts where maps can start");
  expect(options.offset <= content.size(), "a map starts within the file");
  expect(options.size <= content.size() - options.offset, "a map ends within the file");
  auto copy = std::make_unique<std::byte[]>(options.size);
  std::copy_n(
      content.begin() + static_cast<std::ptrdiff_t>(options.offset), options.size, copy.get());
  const os::Buffer mapped(copy.get(), options.size);
  maps_[mapped.data()] = std::move(copy);
  return mapped;
}

Status FileOs::unmap(os::Buffer mapped) noexcept {
  expect(maps_.erase(mapped.data()) == 1, "a map is unmapped once");
  return ok();
}

}  // namespace lastref::fuzz
