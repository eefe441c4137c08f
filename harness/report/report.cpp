#include "harness/report/report.hpp"

#include <algorithm>
#include <numeric>

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

/// Oracles that never had anything to check, although everything ran.
std::vector<std::string> blind_oracles(const Report& report) {
  std::vector<std::string> blind;
  for (const OracleReport& oracle : report.oracles) {
    if (report.all_scenarios && report.runs > 0 && oracle.filled == 0) {
      blind.push_back(oracle.name);
    }
  }
  return blind;
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

/// Whether the campaign was cut short: the remaining runs may show what was not seen.
bool is_cut_short(const Report& report) noexcept {
  return report.matrix.all.executed < report.matrix.all.total ||
         report.second_level.all.executed < report.second_level.all.total ||
         in_ambients(report).executed < in_ambients(report).total || report.interrupted ||
         !report.left_out.empty();
}

bool misses_probes(const Report& report) {
  return report.probe_demand == ProbeDemand::required && !is_cut_short(report) &&
         !never_seen(report).empty();
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
  if (const Count& second = report.second_level.all; second.executed < second.total) {
    why.push_back(fmt::format("{} of {} faults after a fault were not executed",
                              second.total - second.executed,
                              second.total));
  }
  if (const Count count = in_ambients(report); count.executed < count.total) {
    why.push_back(fmt::format(
        "{} of {} runs in ambients were not executed", count.total - count.executed, count.total));
  }
  if (misses_points(report)) {
    why.push_back(fmt::format(
        "{} of {} points were never reached", report.never_reached.size(), report.points_declared));
  }
  if (misses_probes(report)) {
    why.push_back(fmt::format(
        "{} of {} probes were never seen", never_seen(report).size(), report.probes.size()));
  }
  if (const auto blind = blind_oracles(report); !blind.empty()) {
    why.push_back(fmt::format("oracles that never looked at anything: {}", fmt::join(blind, ", ")));
  }
  why.insert(why.end(), report.left_out.begin(), report.left_out.end());
  return fmt::format("incomplete: {}", fmt::join(why, ", "));
}

}  // namespace

void OracleReport::add(const Look& look) {
  ++waived[static_cast<std::size_t>(look.waiver)];
  if (look.waiver == Waiver::none) {
    ++judged;
    looked += look.seen > 0 ? 1U : 0U;
    filled += look.filled > 0 ? 1U : 0U;
  }
}

std::size_t OracleReport::waived_in_all() const noexcept {
  return std::accumulate(waived.begin() + 1, waived.end(), std::size_t{0});
}

std::vector<const ProbeReport*> never_seen(const Report& report) {
  std::vector<const ProbeReport*> never;
  for (const ProbeReport& probe : report.probes) {
    if (!probe.is_seen()) {
      never.push_back(&probe);
    }
  }
  return never;
}

Exit exit_of(const Report& report) noexcept {
  if (std::ranges::any_of(report.groups, any_repeats)) {
    return Exit::violation;
  }
  if (!report.differences.empty() || !report.groups.empty()) {
    return Exit::not_deterministic;
  }
  if (is_cut_short(report) || misses_points(report) || misses_probes(report) ||
      !blind_oracles(report).empty()) {
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
