#include "harness/report/report.hpp"

#include <algorithm>
#include <utility>

namespace lastref::harness {

void add(Report& report, Violation violation, std::string_view label) {
  auto group = std::ranges::find_if(report.groups, [&](const ViolationGroup& each) {
    return each.scenario == violation.scenario && each.claim == violation.claim &&
           each.label == label;
  });
  if (group == report.groups.end()) {
    report.groups.push_back({.scenario = violation.scenario,
                             .claim = violation.claim,
                             .count = 0,
                             .first = {},
                             .label = std::string(label)});
    group = report.groups.end() - 1;
  }
  ++group->count;
  group->first.push_back(std::move(violation));
}

}  // namespace lastref::harness
