#include "harness/explore/ambient_runs.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "harness/explore/matrix.hpp"
#include "harness/explore/plans.hpp"

namespace lastref::harness {

void AmbientRuns::plan(std::span<const std::size_t> scenarios, const Sampler& sampler) {
  for (std::size_t ambient = 0; ambient < options_.ambients.size(); ++ambient) {
    const Ambient& each = *options_.ambients[ambient];
    report_.ambients.push_back({.name = std::string(each.name),
                                .sentence = std::string(each.sentence),
                                .differs = std::string(each.differs)});
    for (const std::size_t index : scenarios) {
      const std::string& name = options_.scenarios[index]->name;
      if (!each.can_play(name) || !sampler.draws(fmt::format("{} {}", each.name, name))) {
        continue;
      }
      if (options_.shard.has(clean_)) {
        settings_.push_back({.ambient = ambient, .scenario = index, .number = clean_});
        report_.ambients.back().runs.total += 1 + report_.kills_in_ambient;
      }
      ++clean_;
    }
  }
}

AmbientRuns::Run AmbientRuns::next() {
  const Setting& next = settings_[given_++];
  Run run = {.scenario = next.scenario, .number = next.number, .plan = {}};
  run.plan.ambient = report_.ambients[next.ambient].name;
  run.plan.wants_crossings = !next.kill;
  if (next.kill) {
    run.plan.faults = {*next.kill};
  }
  return run;
}

void AmbientRuns::end(const Done& done) {
  const Plan& plan = done.job.plan;
  const auto found = std::ranges::find(report_.ambients, plan.ambient, &AmbientReport::name);
  AmbientReport& mine = *found;
  const std::string& name = options_.scenarios[done.job.scenario]->name;
  mine.violations += done.outcome.findings.empty() ? 0U : 1U;
  if (done.outcome.faults_fired < plan.faults.size()) {
    report_.missed.push_back(
        {.scenario = name + " --ambient " + plan.ambient, .fault = to_text(plan.faults.front())});
    return;
  }
  ++mine.runs.executed;
  if (!plan.faults.empty()) {
    return;
  }
  const std::vector<Fault> kills = sample_of_kills(report_.seed,
                                                   plan.ambient + ' ' + name,
                                                   matrix_of(done.outcome.crossings),
                                                   report_.kills_in_ambient);
  mine.runs.total -= report_.kills_in_ambient - kills.size();
  const auto index = static_cast<std::size_t>(found - report_.ambients.begin());
  const std::size_t number = done.job.number - first_number_of(CampaignPhase::ambients);
  for (std::size_t at = 0; at < kills.size(); ++at) {
    settings_.push_back({.ambient = index,
                         .scenario = done.job.scenario,
                         .number = clean_ + number * report_.kills_in_ambient + at,
                         .kill = kills[at]});
  }
}

}  // namespace lastref::harness
