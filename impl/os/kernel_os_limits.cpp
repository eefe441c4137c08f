#include "impl/os/kernel_os_limits.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "impl/os/kernel_os_numbers.hpp"

namespace lastref::os {
namespace {

/// A new map in the middle of another one turns it into up to three.
constexpr std::uint64_t maps_of_one = 3;

class KeptErrno {
 public:
  KeptErrno() noexcept = default;
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;
  ~KeptErrno() { errno = errno_; }

 private:
  int errno_ = errno;
};

/// Calls `take` with each piece of a file of /proc.
template <typename Take>
void read_proc(const char* path, Take take) noexcept {
  const StandardNumbers kept;
  const int fd = above_standard(::open(path, O_RDONLY | O_CLOEXEC));
  if (fd < 0) {
    return;
  }
  std::array<char, 4096> buffer{};
  // The last byte stays a NUL.
  for (ssize_t size = 0; (size = ::read(fd, buffer.data(), buffer.size() - 1)) > 0;) {
    buffer[static_cast<std::size_t>(size)] = '\0';
    take(std::string_view(buffer.data(), static_cast<std::size_t>(size)));
  }
  ::close(fd);
}

/// The number at this position, from 0, in a file of /proc that is one line of numbers.
std::uint64_t number_in(const char* path, int place) noexcept {
  std::uint64_t number = 0;
  read_proc(path, [&](std::string_view text) {
    char* at = const_cast<char*>(text.data());  // NOLINT: strtoull wants it so, and changes nothing
    for (int i = 0; i <= place; ++i) {
      number = std::strtoull(at, &at, 10);
    }
  });
  return number;
}

bool is_over(int resource, std::uint64_t pages, std::size_t bytes) noexcept {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) < 0 ||
      limit.rlim_cur == RLIM_INFINITY) {
    return false;
  }
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return pages * page + bytes > limit.rlim_cur;
}

}  // namespace

std::string_view limit_of_addresses(std::size_t bytes) noexcept {
  const KeptErrno kept;
  // proc(5), /proc/pid/statm: the size of all maps, and of data and stack.
  constexpr const char* sizes = "/proc/self/statm";
  constexpr int all = 0;
  constexpr int data = 5;
  if (is_over(RLIMIT_AS, number_in(sizes, all), bytes)) {
    return "RLIMIT_AS";
  }
  if (is_over(RLIMIT_DATA, number_in(sizes, data), bytes)) {
    return "RLIMIT_DATA";
  }
  const std::uint64_t maps_max = number_in("/proc/sys/vm/max_map_count", 0);
  std::uint64_t maps = 0;
  read_proc("/proc/self/maps", [&](std::string_view text) {
    maps += static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
  });
  return maps_max > 0 && maps + maps_of_one >= maps_max ? "vm.max_map_count" : "";
}

bool has_addresses(std::size_t bytes) noexcept {
  const KeptErrno kept;
  void* const at = ::mmap(
      nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    return false;
  }
  ::munmap(at, bytes);
  return true;
}

}  // namespace lastref::os
