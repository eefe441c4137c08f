#include "harness/warden/growth.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "harness/platform/proc.hpp"

namespace lastref::harness::warden {
void RoundsSeen::note(const std::string& role, int process) {
  sizes_[{role, "descriptors"}].push_back(descriptors_of(process).size());
  sizes_[{role, "threads"}].push_back(threads_of(process).size());
  sizes_[{role, "maps"}].push_back(
      mappings_in(read_file(fmt::format("/proc/{}/maps", process))).size());
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
                         static_cast<double>(sizes.end() - first - 1)});
    }
  }
  return all;
}

}  // namespace lastref::harness::warden
