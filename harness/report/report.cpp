#include "harness/report/report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lastref::harness {
namespace {

bool any_repeats(const ViolationGroup& group) noexcept {
  return std::ranges::any_of(group.first, &Violation::repeats);
}

bool misses_points(const Report& report) noexcept {
  return report.all_scenarios && !report.never_reached.empty();
}

/// Over all ambients.
Count in_ambients(const Report& report) noexcept {
  Count all;
  for (const AmbientReport& ambient : report.ambients) {
    all.total += ambient.runs.total;
    all.executed += ambient.runs.executed;
  }
  return all;
}

std::string why_incomplete(const Report& report) {
  std::vector<std::string> why;
  if (report.interrupted) {
    why.emplace_back("interrupted");
  }
  const Count& matrix = report.matrix.all;
  if (matrix.executed < matrix.total) {
    why.push_back(fmt::format(
        "{} of {} faults were not executed", matrix.total - matrix.executed, matrix.total));
  }
  if (const Count count = in_ambients(report); count.executed < count.total) {
    why.push_back(fmt::format(
        "{} of {} runs in ambients were not executed", count.total - count.executed, count.total));
  }
  if (misses_points(report)) {
    why.push_back(fmt::format(
        "{} of {} points were never reached", report.never_reached.size(), report.points_declared));
  }
  why.insert(why.end(), report.left_out.begin(), report.left_out.end());
  return fmt::format("incomplete: {}", fmt::join(why, ", "));
}

}  // namespace

Exit exit_of(const Report& report) noexcept {
  if (std::ranges::any_of(report.groups, any_repeats)) {
    return Exit::violation;
  }
  if (!report.differences.empty() || !report.groups.empty()) {
    return Exit::not_deterministic;
  }
  if (report.matrix.all.executed < report.matrix.all.total || misses_points(report) ||
      in_ambients(report).executed < in_ambients(report).total || report.interrupted ||
      !report.left_out.empty()) {
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
    case Exit::incomplete:
      return why_incomplete(report);
    case Exit::unusable:
      return "cannot run";
  }
  return {};
}

}  // namespace lastref::harness
