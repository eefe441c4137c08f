#include "harness/report/report.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lastref::harness {
namespace {

bool any_repeats(const ViolationGroup& group) noexcept {
  return std::ranges::any_of(group.first, &Violation::repeats);
}

bool misses_points(const Report& report) noexcept {
  return report.all_scenarios && !report.never_reached.empty();
}

}  // namespace

Exit exit_of(const Report& report) noexcept {
  if (std::ranges::any_of(report.groups, any_repeats)) {
    return Exit::violation;
  }
  if (!report.differences.empty() || !report.groups.empty()) {
    return Exit::not_deterministic;
  }
  if (report.matrix.all.executed < report.matrix.all.total || misses_points(report)) {
    return Exit::incomplete;
  }
  return Exit::clean;
}

std::string verdict_of(const Report& report) {
  switch (exit_of(report)) {
    case Exit::clean:
      return "clean";
    case Exit::violation:
      return fmt::format("{} violations", report.violations);
    case Exit::not_deterministic:
      return report.differences.empty() ? "violations, none of which repeats"
                                        : "the same plan gave different runs";
    case Exit::incomplete: {
      const Count& matrix = report.matrix.all;
      std::string why;
      if (matrix.executed < matrix.total) {
        why = fmt::format("incomplete: {} of {} faults were not executed",
                          matrix.total - matrix.executed,
                          matrix.total);
      }
      if (misses_points(report)) {
        why += fmt::format("{}{} of {} points were never reached",
                           why.empty() ? "incomplete: " : ", ",
                           report.never_reached.size(),
                           report.points_declared);
      }
      return why;
    }
    case Exit::unusable:
      return "cannot run";
  }
  return {};
}

}  // namespace lastref::harness
