#include "harness/report/violation_groups.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

namespace lastref::harness {
namespace {

constexpr std::size_t shown_in_full = 3;

std::ptrdiff_t options_in(std::string_view command) {
  std::ptrdiff_t count = 0;
  for (std::size_t at = command.find(" --"); at != std::string_view::npos;
       at = command.find(" --", at + 1)) {
    ++count;
  }
  return count;
}

/// Keeps the ones planned first, so that parallel worlds do not change what is shown.
void keep_first(ViolationGroup& group, Violation&& violation) {
  const auto position =
      std::ranges::upper_bound(group.first, violation.run, std::less{}, &Violation::run);
  group.first.insert(position, std::move(violation));
  if (group.first.size() <= shown_in_full) {
    return;
  }
  // One repeatable violation is worth more than three that do not repeat.
  const bool last_alone_repeats =
      group.first.back().repeats && std::ranges::count(group.first, true, &Violation::repeats) == 1;
  group.first.erase(last_alone_repeats ? group.first.end() - 2 : group.first.end() - 1);
}

}  // namespace

ViolationGroup& ViolationGroups::group_of(const std::string& scenario, const std::string& claim) {
  const auto [at, is_new] = groups_.try_emplace({scenario, claim});
  if (is_new) {
    at->second.scenario = scenario;
    at->second.claim = claim;
  }
  return at->second;
}

void ViolationGroups::add(Violation violation) {
  ViolationGroup& group = group_of(violation.scenario, violation.claim);
  ++group.count;
  keep_first(group, std::move(violation));
}

void ViolationGroups::add(ViolationGroup group) {
  ViolationGroup& mine = group_of(group.scenario, group.claim);
  mine.count += group.count;
  for (Violation& each : group.first) {
    keep_first(mine, std::move(each));
  }
}

bool ViolationGroups::may_keep(const std::string& scenario,
                               const std::string& claim,
                               std::size_t run) const {
  const auto group = groups_.find({scenario, claim});
  return group == groups_.end() || group->second.first.size() < shown_in_full ||
         run < group->second.first.back().run;
}

std::vector<ViolationGroup> ViolationGroups::sorted() const {
  std::vector<ViolationGroup> all;
  for (const auto& [name, group] : groups_) {
    all.push_back(group);
  }
  // A command has an option for each fault, and others for the schedule.
  std::ranges::stable_sort(all, {}, [](const ViolationGroup& group) {
    const Violation& first = group.first.front();
    return std::pair(!first.repeats, options_in(first.replay));
  });
  return all;
}

}  // namespace lastref::harness
