#include "harness/warden/peek.hpp"

#include <fcntl.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <climits>
#include <fmt/format.h>

namespace lastref::harness::warden {
namespace {

constexpr std::size_t page = 4096;

std::optional<std::string> link_at(const std::string& path) {
  std::error_code error;
  std::string target = std::filesystem::read_symlink(path, error);
  return error ? std::nullopt : std::optional(std::move(target));
}

}  // namespace

std::optional<std::string> text_at(int thread, std::uint64_t address) {
  std::string text;
  while (text.size() < PATH_MAX) {
    // Up to the end of a page: the next one may not be there.
    std::array<char, page> bytes{};
    const std::uint64_t from = address + text.size();
    const std::size_t size = page - from % page;
    iovec here{.iov_base = bytes.data(), .iov_len = size};
    iovec there{.iov_base = std::bit_cast<void*>(from), .iov_len = size};
    const ssize_t got = ::process_vm_readv(thread, &here, 1, &there, 1, 0);
    if (got <= 0) {
      return std::nullopt;
    }
    const auto end = bytes.begin() + got;
    const auto zero = std::find(bytes.begin(), end, '\0');
    text.append(bytes.begin(), zero);
    if (zero != end) {
      return text;
    }
  }
  return std::nullopt;
}

namespace {

/// Without "." and "..", and without a "/" too many; most have none of them.
std::string normal(std::string path) {
  const bool is_normal = path.find("/.") == std::string::npos &&
                         path.find("//") == std::string::npos && !path.ends_with('/');
  return is_normal ? std::move(path) : std::filesystem::path(path).lexically_normal().string();
}

}  // namespace

std::optional<std::string> path_at(const Notification& call, const NameAt& name) {
  auto text = text_at(call.thread, call.arguments[static_cast<std::size_t>(name.path)]);
  if (!text) {
    return std::nullopt;
  }
  if (text->starts_with('/')) {
    return normal(*std::move(text));
  }
  const int folder = name.folder < 0
                         ? AT_FDCWD
                         : static_cast<int>(call.arguments[static_cast<std::size_t>(name.folder)]);
  const auto below = folder == AT_FDCWD
                         ? link_at(fmt::format("/proc/{}/cwd", call.thread))
                         : link_at(fmt::format("/proc/{}/fd/{}", call.thread, folder));
  if (!below) {
    return std::nullopt;
  }
  return normal(*below + '/' + *text);
}

std::string descriptor_at(int thread, int descriptor) {
  return link_at(fmt::format("/proc/{}/fd/{}", thread, descriptor))
      .value_or(fmt::format("fd {}", descriptor));
}

int number_of_status(int process, const std::string& field) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  const std::string start = field + ":";
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(start)) {
      const std::size_t digits = line.find_first_of("0123456789");
      int number = -1;
      if (digits != std::string::npos) {
        std::from_chars(line.data() + digits, line.data() + line.size(), number);
      }
      return number;
    }
  }
  return -1;
}

std::string title_of(int process) {
  std::ifstream comm(fmt::format("/proc/{}/comm", process));
  std::string title;
  std::getline(comm, title);
  return title;
}

}  // namespace lastref::harness::warden
