#include "harness/kernel/fd_inventory.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "harness/instrument/fd_names.hpp"
#include "harness/kernel/control_block.hpp"
#include "harness/platform/proc.hpp"

namespace lastref::harness {
namespace {

constexpr int first_of_a_program = 3;
constexpr std::string_view shared_memory = "/dev/shm/";

/// A file that has been removed since is still the same file.
std::string_view without_mark(std::string_view target) {
  target.remove_suffix(target.ends_with(Mapping::removed) ? Mapping::removed.size() : 0);
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
    if (const auto target = link_at("/proc/self/fd/" + std::to_string(number))) {
      all.push_back(std::to_string(number) + ' ' + std::string(without_mark(*target)));
    }
  }
  std::ranges::sort(all);
  return all;
}

/// Total bytes of all maps of each path. Their addresses are not compared, because adjacent maps
/// are merged.
/// proc(5), "maps"
std::map<std::string, std::uint64_t> maps_now() {
  std::map<std::string, std::uint64_t> all;
  const std::string text = read_file("/proc/self/maps");
  for (const Mapping& each : mappings_in(text)) {
    if (each.path.starts_with(shared_memory)) {
      all[std::string(without_mark(each.path))] += each.end - each.begin;
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

FdInventory FdInventory::look() {
  FdInventory things;
  things.descriptors_ = descriptors_now();
  things.maps_ = maps_now();
  return things;
}

std::vector<std::string> FdInventory::more_than(const FdInventory& before) const {
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
