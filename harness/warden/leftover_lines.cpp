#include "harness/warden/leftover_lines.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "harness/scenario/pattern.hpp"

namespace lastref::harness::warden {
namespace {

constexpr std::size_t listed_of_a_kind = 10;
constexpr std::size_t listed_in_all = 100;

/// "child.*/openat" of "child.1.2/openat(/tmp/a)#3"
std::string kind_of_call(std::string_view maker) {
  const std::string_view call = maker.substr(0, maker.find('('));
  const std::size_t number = call.find_first_of("0123456789");
  const std::size_t slash = call.rfind('/');
  return number < slash && slash != std::string_view::npos
             ? fmt::format("{}*{}", call.substr(0, number), call.substr(slash))
             : std::string(call);
}

}  // namespace

std::vector<LeftoverLine> lines_of(const std::vector<Leftover>& all) {
  std::vector<LeftoverLine> lines;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> counts;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> more;
  for (const Leftover& each : all) {
    const std::string folder = each.path.substr(0, each.path.rfind('/') + 1);
    const std::string call = kind_of_call(each.maker);
    const bool is_listed =
        lines.size() < listed_in_all && ++counts[{folder, each.kind, call}] <= listed_of_a_kind;
    if (is_listed) {
      lines.push_back({pattern_of(each.path), each.kind, each.maker});
    } else {
      const bool has_line = counts.contains({folder, each.kind, call});
      ++more[{has_line ? folder : "", each.kind, call}];
    }
  }
  for (const auto& [key, count] : more) {
    const auto& [folder, kind, call] = key;
    lines.push_back({pattern_of(folder) + '*', fmt::format("{}, and {} more", kind, count), call});
  }
  return lines;
}

}  // namespace lastref::harness::warden
