#include "harness/choice/shard.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <numeric>
#include <queue>
#include <system_error>
#include <tuple>

#include <fmt/format.h>

namespace lastref::harness {

Result<Shard> parse_shard(std::string_view text) {
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, shard.number);
  const bool has_slash = number.ec == std::errc{} && number.ptr != end && *number.ptr == '/';
  const auto all = std::from_chars(has_slash ? number.ptr + 1 : end, end, shard.all);
  if (!has_slash || all.ec != std::errc{} || all.ptr != end || shard.number < 1 ||
      shard.number > shard.all) {
    return failure(std::errc::invalid_argument,
                   "\"" + std::string(text) + "\" is not I/N, with I from 1 to N");
  }
  return shard;
}

std::string to_text(const Shard& shard) {
  return fmt::format("{}/{}", shard.number, shard.all);
}

std::vector<std::size_t> items_of(const Shard& shard,
                                  const std::vector<double>& costs,
                                  std::uint64_t first) {
  std::vector<std::size_t> dearest(costs.size());
  std::iota(dearest.begin(), dearest.end(), 0);
  std::ranges::stable_sort(dearest, std::greater<>(), [&](std::size_t at) { return costs[at]; });
  // Each item goes to the part that costs least so far. Of equal ones it is the one with the
  // fewest items, and then the next one in turn. More parts than items remain empty.
  using Part = std::tuple<double, std::size_t, std::size_t>;
  const std::size_t parts = std::min(shard.all, std::max<std::size_t>(costs.size(), 1));
  std::priority_queue<Part, std::vector<Part>, std::greater<>> cheapest;
  for (std::size_t part = 0; part < parts; ++part) {
    cheapest.emplace(0, 0, part);
  }
  std::vector<std::size_t> items;
  for (const std::size_t item : dearest) {
    const auto [cost, count, part] = cheapest.top();
    cheapest.pop();
    cheapest.emplace(cost + costs[item], count + 1, part);
    if ((part + first % parts) % parts + 1 == shard.number) {
      items.push_back(item);
    }
  }
  std::ranges::sort(items);
  return items;
}

}  // namespace lastref::harness
