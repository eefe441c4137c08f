#include "impl/os/kernel_os_locks.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>

#include "impl/os/kernel_os_error.hpp"
#include "impl/os/kernel_os_numbers.hpp"

namespace lastref::os {
namespace {

/// bytes; a few numbers come before the first lock.
constexpr std::size_t start_size = 1024;

int open_above_standard(const char* path, int flags) noexcept {
  const StandardNumbers kept;
  return above_standard(::open(path, flags | O_RDONLY | O_CLOEXEC));
}

std::optional<int> number_in(std::string_view name) noexcept {
  int value = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

/// Whether this process has a lock that it took through the descriptor.
bool has_locked(KernelOs& os, std::string_view name) noexcept {
  constexpr std::string_view folder = "/proc/self/fdinfo/";
  std::array<char, 64> path{};  // With a 0 at its end.
  std::ranges::copy(name, std::ranges::copy(folder, path.begin()).out);
  const int shown = open_above_standard(path.data(), 0);
  if (shown < 0) {
    return errno != ENOENT;  // It was closed meanwhile.
  }
  UniqueFd owned(os, Fd{shown});
  std::array<char, start_size> start{};
  const ssize_t size = ::read(shown, start.data(), start.size());
  return size < 0 ||
         std::string_view(start.data(), static_cast<std::size_t>(size)).find(" POSIX ") !=
             std::string_view::npos;
}

}  // namespace

bool has_record_lock(ProcessObjects::FileId file, std::span<const Fd> own) noexcept {
  KernelOs os;
  const int folder = open_above_standard("/proc/self/fd", O_DIRECTORY);
  if (folder < 0) {
    return errno != ENOENT;
  }
  UniqueFd owned(os, Fd{folder});
  alignas(dirent64) std::array<std::byte, folder_buffer_size> buffer{};
  for (;;) {
    const ssize_t size = ::getdents64(folder, buffer.data(), buffer.size());
    if (size <= 0) {
      return size < 0;
    }
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      const auto* entry = reinterpret_cast<const dirent64*>(&buffer[at]);
      at += entry->d_reclen;
      const std::string_view name = entry->d_name;
      const auto number = number_in(name);
      if (!number || std::ranges::find(own, Fd{*number}) != own.end()) {
        continue;
      }
      const auto status = os.status(Fd{*number});
      if (status && file == ProcessObjects::FileId(status->device, status->inode) &&
          has_locked(os, name)) {
        return true;
      }
    }
  }
}

}  // namespace lastref::os
