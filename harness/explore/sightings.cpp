#include "harness/explore/sightings.hpp"

#include <algorithm>
#include <string>

#include <lastref/probe.hpp>

#include "harness/explore/plans.hpp"

namespace lastref::harness {

Sightings::Sightings(std::string_view world) : world_(world) {
  for (const ProbeRow& row : probe_rows()) {
    rows_.push_back({.name = std::string(row.name), .sentence = std::string(row.sentence)});
  }
}

void Sightings::add(const Scenario& scenario, const Done& done) {
  add_run(scenario, done.job, done.outcome.probes);
  if (done.again) {
    add_run(scenario, done.job, done.again->probes);
  }
}

void Sightings::add_run(const Scenario& scenario, const Job& job, const ProbeSet& seen) {
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

void Sightings::remember(std::string_view name) {
  const auto found = std::ranges::find(rows_, name, &ProbeReport::name);
  if (found != rows_.end()) {
    found->seen_earlier = true;
  }
}

ProbeSet Sightings::all() const {
  ProbeSet seen;
  for (std::size_t at = 0; at < rows_.size(); ++at) {
    seen.set(at, rows_[at].is_seen());
  }
  return seen;
}

}  // namespace lastref::harness
