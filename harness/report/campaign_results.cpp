#include "harness/report/campaign_results.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/platform/names.hpp"

namespace lastref::harness {
namespace {

bool any_repeats(const ViolationGroup& group) noexcept {
  return std::ranges::any_of(group.first, &Violation::repeats);
}

bool misses_points(const CampaignResults& results) noexcept {
  return results.all_scenarios && !results.never_reached.empty();
}

/// Oracles that never had anything to check, although everything ran.
std::vector<std::string> blind_oracles(const CampaignResults& results) {
  std::vector<std::string> blind;
  for (const OracleReport& oracle : results.oracles) {
    if (results.all_scenarios && results.runs > 0 && oracle.filled == 0) {
      blind.push_back(oracle.name);
    }
  }
  return blind;
}

/// Over all ambients.
Count in_ambients(const CampaignResults& results) noexcept {
  Count all;
  for (const AmbientReport& ambient : results.ambients) {
    all.total += ambient.runs.total;
    all.executed += ambient.runs.executed;
  }
  return all;
}

/// Whether the campaign was cut short: the remaining runs may show what was not seen.
bool is_cut_short(const CampaignResults& results) noexcept {
  return results.matrix.all.executed < results.matrix.all.total ||
         results.second_level.all.executed < results.second_level.all.total ||
         in_ambients(results).executed < in_ambients(results).total || results.interrupted ||
         !results.left_out.empty();
}

bool misses_probes(const CampaignResults& results) {
  return results.probe_demand == ProbeDemand::required && !is_cut_short(results) &&
         !never_seen(results).empty();
}

std::string why_incomplete(const CampaignResults& results) {
  std::vector<std::string> why;
  if (results.interrupted) {
    why.emplace_back("interrupted");
  }
  const Count& matrix = results.matrix.all;
  if (matrix.executed < matrix.total) {
    why.push_back(fmt::format(
        "{} of {} faults were not executed", matrix.total - matrix.executed, matrix.total));
  }
  if (const Count& second = results.second_level.all; second.executed < second.total) {
    why.push_back(fmt::format("{} of {} faults after a fault were not executed",
                              second.total - second.executed,
                              second.total));
  }
  if (const Count count = in_ambients(results); count.executed < count.total) {
    why.push_back(fmt::format(
        "{} of {} runs in ambients were not executed", count.total - count.executed, count.total));
  }
  if (misses_points(results)) {
    why.push_back(fmt::format("{} of {} points were never reached",
                              results.never_reached.size(),
                              results.points_declared));
  }
  if (misses_probes(results)) {
    why.push_back(fmt::format(
        "{} of {} probes were never seen", never_seen(results).size(), results.probes.size()));
  }
  if (const auto blind = blind_oracles(results); !blind.empty()) {
    why.push_back(fmt::format("oracles that never looked at anything: {}", fmt::join(blind, ", ")));
  }
  why.insert(why.end(), results.left_out.begin(), results.left_out.end());
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

void OracleReport::add(const OracleReport& other) {
  judged += other.judged;
  looked += other.looked;
  filled += other.filled;
  for (std::size_t at = 0; at < waived.size(); ++at) {
    waived[at] += other.waived[at];
  }
}

std::size_t OracleReport::waived_in_all() const noexcept {
  return std::accumulate(waived.begin() + 1, waived.end(), std::size_t{0});
}

std::vector<const ProbeReport*> never_seen(const CampaignResults& results) {
  std::vector<const ProbeReport*> never;
  for (const ProbeReport& probe : results.probes) {
    if (!probe.is_seen()) {
      never.push_back(&probe);
    }
  }
  return never;
}

Exit exit_of(const CampaignResults& results) noexcept {
  if (std::ranges::any_of(results.groups, any_repeats)) {
    return Exit::violation;
  }
  if (!results.differences.empty() || !results.groups.empty()) {
    return Exit::not_deterministic;
  }
  if (is_cut_short(results) || misses_points(results) || misses_probes(results) ||
      !blind_oracles(results).empty()) {
    return Exit::incomplete;
  }
  return Exit::clean;
}

std::string verdict_of(const CampaignResults& results) {
  switch (exit_of(results)) {
    case Exit::clean:
      return "clean";
    case Exit::violation:
      return counted(results.violations, "violation");
    case Exit::not_deterministic:
      return results.differences.empty() ? "violations, none of which repeats"
                                         : "the same plan gave different runs";
    case Exit::incomplete:
      return why_incomplete(results);
    case Exit::unusable:
    case Exit::does_not_apply:
      break;  // A campaign has neither.
  }
  return {};
}

}  // namespace lastref::harness
