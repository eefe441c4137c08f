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

bool claims(const Outcome& outcome, const std::string& claim) {
  return std::ranges::find(outcome.findings, claim, &Finding::claim) != outcome.findings.end();
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
    return groups_.may_keep(scenario.name, finding.claim, job.number);
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
    Violation violation = violation_of(scenario, done, finding, world_);
    violation.repeats = done.again && claims(*done.again, finding.claim);
    groups_.add(std::move(violation));
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
  report.groups = groups_.sorted();
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
