#include "harness/kernel/open_things.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <string_view>

#include "harness/instrument/fd_names.hpp"
#include "harness/kernel/control_block.hpp"

namespace lastref::harness {
namespace {

constexpr int first_of_a_program = 3;
constexpr std::string_view shared_memory = "/dev/shm/";
constexpr std::string_view removed = " (deleted)";

/// A file that has been removed since is still the same file.
std::string_view without_mark(std::string_view target) {
  target.remove_suffix(target.ends_with(removed) ? removed.size() : 0);
  return target;
}

/// The numbers of open descriptors, by one call. Listing /proc/self/fd would make the kernel create
/// entries for the harness's own descriptors as well. poll(2), POLLNVAL
std::vector<int> numbers_in_use() {
  std::array<pollfd, harness_fd::lowest - first_of_a_program> asked{};
  for (std::size_t at = 0; at < asked.size(); ++at) {
    asked[at].fd = first_of_a_program + static_cast<int>(at);
  }
  std::vector<int> numbers;
  if (::poll(asked.data(), asked.size(), 0) < 0) {
    return numbers;
  }
  for (const pollfd& each : asked) {
    if ((each.revents & POLLNVAL) == 0) {
      numbers.push_back(each.fd);
    }
  }
  return numbers;
}

/// "5 socket:[77]" and so on.
std::vector<std::string> descriptors_now() {
  std::vector<std::string> all;
  for (const int number : numbers_in_use()) {
    const std::string link = "/proc/self/fd/" + std::to_string(number);
    std::array<char, 4096> target;
    const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
    if (size > 0) {
      all.push_back(std::to_string(number) + ' ' +
                    std::string(without_mark({target.data(), static_cast<std::size_t>(size)})));
    }
  }
  std::ranges::sort(all);
  return all;
}

std::string read_all(const char* path) {
  std::string text;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  std::array<char, 8192> piece;
  for (ssize_t size = 1; fd >= 0 && size > 0;) {
    size = ::read(fd, piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  }
  if (fd >= 0) {
    ::close(fd);
  }
  return text;
}

/// Total bytes of all maps of each path. Their addresses are not compared, because adjacent maps
/// are merged.
/// proc(5), "maps"
std::map<std::string, std::uint64_t> maps_now() {
  std::map<std::string, std::uint64_t> all;
  const std::string text = read_all("/proc/self/maps");
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size()));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (const std::size_t path = line.find(shared_memory); path != std::string_view::npos) {
      std::uint64_t begin = 0;
      std::uint64_t end = 0;
      const auto parsed = std::from_chars(line.data(), line.data() + line.size(), begin, 16);
      std::from_chars(parsed.ptr + 1, line.data() + line.size(), end, 16);
      all[std::string(without_mark(line.substr(path)))] += end - begin;
    }
  }
  return all;
}

/// Without the parts that differ in each run.
std::string name_of(std::string_view target) {
  return std::string(target.starts_with('/') ? object_of(target)
                                             : target.substr(0, target.find(":[")));
}

}  // namespace

OpenThings OpenThings::look() {
  OpenThings things;
  things.descriptors_ = descriptors_now();
  things.maps_ = maps_now();
  return things;
}

std::vector<std::string> OpenThings::more_than(const OpenThings& before) const {
  std::vector<std::string> names;
  std::vector<std::string> fresh;
  std::ranges::set_difference(descriptors_, before.descriptors_, std::back_inserter(fresh));
  for (const std::string& each : fresh) {
    names.push_back(name_of(std::string_view(each).substr(each.find(' ') + 1)));
  }
  for (const auto& [path, bytes] : maps_) {
    const auto found = before.maps_.find(path);
    if (bytes > (found == before.maps_.end() ? 0 : found->second)) {
      names.push_back("map:" + name_of(path));
    }
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace lastref::harness
