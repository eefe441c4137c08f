#include "harness/warden/growth.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "harness/platform/proc.hpp"
#include "harness/warden/proc_inspect.hpp"

namespace lastref::harness::warden {
void RoundsSeen::note(const std::string& role, int process) {
  sizes_[{role, "threads"}].push_back(threads_of(process).size());
  Counts descriptors;
  for (const auto& [descriptor, object] : descriptors_of(process)) {
    ++descriptors[without_number(object)];
  }
  note_objects(role, "descriptors", descriptors);
  const std::string text = read_file(fmt::format("/proc/{}/maps", process));
  Counts maps;
  for (const Mapping& each : mappings_in(text)) {
    ++maps[each.path.empty() ? "anonymous memory" : std::string(each.path)];
  }
  note_objects(role, "maps", maps);
}

void RoundsSeen::note_objects(const std::string& role,
                              std::string_view what,
                              const Counts& counts) {
  std::size_t size = 0;
  for (const auto& [object, count] : counts) {
    size += count;
  }
  std::vector<std::size_t>& sizes = sizes_[{role, what}];
  sizes.push_back(size);
  auto& [first, last] = objects_[{role, what}];
  first = sizes.size() == 1 ? counts : first;
  last = counts;
}

std::string RoundsSeen::most_grown(const std::pair<std::string, std::string_view>& key) const {
  const auto found = objects_.find(key);
  if (found == objects_.end()) {
    return "";
  }
  const auto& [first, last] = found->second;
  std::size_t most = 0;
  std::string name;
  for (const auto& [object, count] : last) {
    const auto before = first.find(object);
    const std::size_t least = before == first.end() ? 0 : before->second;
    if (count > least + most) {
      most = count - least;
      name = object;
    }
  }
  return most == 0 ? "" : fmt::format("{} more of {}", most, name);
}

std::vector<Growth> RoundsSeen::growing() const {
  std::vector<Growth> all;
  if (rounds_ < rounds_least) {
    return all;
  }
  for (const auto& [key, sizes] : sizes_) {
    if (sizes.size() != rounds_) {
      continue;
    }
    const auto first = sizes.begin() + static_cast<std::ptrdiff_t>(rounds_ / 4);
    const auto third = (sizes.end() - first) / 3;
    const auto [low, high] = std::minmax_element(first + third, sizes.end() - third);
    if (*std::max_element(first, first + third) < *low &&
        *high < *std::min_element(sizes.end() - third, sizes.end())) {
      all.push_back(
          {.role = key.first,
           .what = std::string(key.second),
           .from = *first,
           .to = sizes.back(),
           .each_round = (static_cast<double>(sizes.back()) - static_cast<double>(*first)) /
                         static_cast<double>(sizes.end() - first - 1),
           .most = most_grown(key)});
    }
  }
  return all;
}

}  // namespace lastref::harness::warden
