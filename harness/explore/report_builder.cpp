#include "harness/explore/report_builder.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include <lastref/probe.hpp>

#include "harness/explore/plans.hpp"
#include "harness/oracle/evidence.hpp"

namespace lastref::harness {
namespace {

constexpr std::size_t shown_in_full = 3;

bool claims(const Outcome& outcome, const std::string& claim) {
  return std::ranges::find(outcome.findings, claim, &Finding::claim) != outcome.findings.end();
}

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

void ReportBuilder::add(CampaignResults& report, const Scenario& scenario, const Done& done) {
  add_outcome(report, done.outcome);
  report.scenarios[done.job.scenario].seconds += done.seconds;
  ++report.scenarios[done.job.scenario].runs;
  if (done.again) {
    add_outcome(report, *done.again);
    ++report.scenarios[done.job.scenario].runs;
  }
  probe_counts_.add(scenario, done);
  add_violations(report, scenario, done);
  if (done.job.twice) {
    compare(report, scenario, done);
  }
}

bool ReportBuilder::may_show(const Scenario& scenario,
                             const Job& job,
                             const Outcome& outcome) const {
  return std::ranges::any_of(outcome.findings, [&](const Finding& finding) {
    const auto group = groups_.find({scenario.name, finding.claim});
    return group == groups_.end() || group->second.first.size() < shown_in_full ||
           job.number < group->second.first.back().run;
  });
}

void ReportBuilder::add_outcome(CampaignResults& report, const Outcome& outcome) {
  ++report.runs;
  report.kills += outcome.kills;
  report.leftovers += outcome.leftovers;
  report.permitted_leftovers.add(outcome.permitted_leftovers);
  reached_ |= outcome.reached;
  const std::span<const std::string_view> names = oracle_names();
  for (std::size_t at = 0; at < std::min(names.size(), outcome.looks.size()); ++at) {
    if (report.oracles.size() == at) {
      report.oracles.push_back({.name = std::string(names[at])});
    }
    report.oracles[at].add(outcome.looks[at]);
  }
}

void ReportBuilder::add_violations(CampaignResults& report,
                                   const Scenario& scenario,
                                   const Done& done) {
  std::set<std::string_view> seen_claims;
  for (const Finding& finding : done.outcome.findings) {
    if (!seen_claims.insert(finding.claim).second) {
      continue;  // One run violates one claim once, however often it is seen.
    }
    ++report.violations;
    ++report.scenarios[done.job.scenario].violations;
    ViolationGroup& group = groups_[{scenario.name, finding.claim}];
    ++group.count;
    Violation violation = violation_of(scenario, done, finding, world_);
    violation.repeats = done.again && claims(*done.again, finding.claim);
    keep_first(group, std::move(violation));
  }
}

void ReportBuilder::compare(CampaignResults& report,
                            const Scenario& scenario,
                            const Done& done) const {
  if (std::string seen = difference_of(done.outcome, *done.again); !seen.empty()) {
    report.differences.push_back({.scenario = scenario.name,
                                  .replay = replay_command(scenario.name, done.job.plan, world_),
                                  .seen = std::move(seen)});
  }
}

void ReportBuilder::finish(CampaignResults& report) const {
  report.points_declared = number_of_points();
  for (std::size_t point = 0; point < number_of_points(); ++point) {
    if (reached_.test(point)) {
      ++report.points_reached;
    } else {
      report.never_reached.emplace_back(name_of_point(point));
    }
  }
  report.probes = probe_counts_.rows();
  for (const auto& [name, group] : groups_) {
    report.groups.push_back(group);
    report.groups.back().scenario = name.first;
    report.groups.back().claim = name.second;
  }
  // The simplest first: a command has an option for each fault, and others for the schedule.
  std::ranges::stable_sort(report.groups, {}, [](const ViolationGroup& group) {
    const Violation& first = group.first.front();
    return std::pair(!first.repeats, options_in(first.replay));
  });
}

ProbeCounts::ProbeCounts(std::string_view world) : world_(world) {
  for (const ProbeRow& row : probe_rows()) {
    rows_.push_back({.name = std::string(row.name), .sentence = std::string(row.sentence)});
  }
}

void ProbeCounts::add(const Scenario& scenario, const Done& done) {
  add_run(scenario, done.job, done.outcome.probes);
  if (done.again) {
    add_run(scenario, done.job, done.again->probes);
  }
}

void ProbeCounts::add_run(const Scenario& scenario, const Job& job, const ProbeSet& seen) {
  for (std::size_t at = 0; at < rows_.size(); ++at) {
    if (!seen.test(at)) {
      continue;
    }
    ProbeReport& row = rows_[at];
    if (++row.runs == 1 || job.number < row.first_run) {
      row.first_run = job.number;
      row.scenario = scenario.name;
      row.replay = replay_command(scenario.name, job.plan, world_);
      row.by_chance = job.phase == CampaignPhase::random;
    }
  }
}

void ProbeCounts::remember(std::string_view name) {
  const auto found = std::ranges::find(rows_, name, &ProbeReport::name);
  if (found != rows_.end()) {
    found->seen_earlier = true;
  }
}

ProbeSet ProbeCounts::all() const {
  ProbeSet seen;
  for (std::size_t at = 0; at < rows_.size(); ++at) {
    seen.set(at, rows_[at].is_seen());
  }
  return seen;
}

}  // namespace lastref::harness
