#include "harness/explore/hunt.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "harness/choice/choices.hpp"
#include "harness/explore/jobs.hpp"
#include "harness/explore/matrix.hpp"
#include "harness/explore/site_matrix.hpp"
#include "harness/platform/clock.hpp"

namespace lastref::harness {
namespace {

/// Runs of a scenario before the next one has its turn. Few: most races show within a few runs of
/// the right scenario, so the time to the first find is the time of the first round. More for a
/// scenario with more schedules: it has more questions.
std::uint64_t runs_in_turn_of(std::size_t deviations) {
  return std::clamp(
      static_cast<std::uint64_t>(std::sqrt(deviations) / 2), std::uint64_t{2}, std::uint64_t{40});
}

/// Two runs of three have a fault, one of six has two.
constexpr std::uint64_t kinds_of_run = 6;

/// One answer other than the usual one, or the pause of one actor.
struct Deviation {
  std::size_t question = 0;
  std::uint32_t answer = 0;
  Switches pause = {};
};

/// What is known of a scenario.
struct Quarry {
  const Scenario* scenario = nullptr;
  bool is_started = false;
  bool is_known = false;  ///< Its clean run is over.
  std::vector<Fault> faults;
  std::shared_ptr<const RunEstimate> estimate;
  std::vector<Deviation> deviations;
  std::size_t deviations_given = 0;
  std::uint64_t runs_in_turn = 1;
  bool is_turn_of_deviation = false;  ///< Every other run is one, until all were made.
  std::uint64_t random_runs = 0;
  std::unordered_set<std::uint64_t> orders;
  std::set<std::string> claims;  ///< Violated ones
};

/// In random order: neighbours in a run mostly have the same result.
std::vector<Deviation> deviations_of(const Outcome& clean, std::uint64_t chance) {
  std::vector<Deviation> all;
  for (std::size_t question = 0; question < clean.options.size(); ++question) {
    for (std::uint32_t answer = 1; answer < clean.options[question]; ++answer) {
      all.push_back({.question = question, .answer = answer});
    }
  }
  std::map<std::uint32_t, std::uint32_t> steps;
  for (const ActorSteps& each : *clean.estimate) {
    steps[each.actor] += each.steps;
  }
  for (const auto& [actor, count] : steps) {
    for (std::uint32_t step = 0; step < count && steps.size() > 1; ++step) {
      all.push_back({.pause = {{.kind = Switch::Kind::pause, .from = actor, .step = step}}});
    }
  }
  for (std::size_t left = all.size(); left > 1; --left) {
    std::swap(all[left - 1], all[next_random(chance) % left]);
  }
  return all;
}

bool has_form(const Scenario& scenario) {
  return std::ranges::any_of(scenario.parameters, &DeclaredParameter::form);
}

class Hunt {
 public:
  Hunt(std::span<World* const> worlds, const HuntOptions& options)
      : worlds_(worlds), options_(options), started_(now()) {
    std::vector<PolicyName> policies = options.policies;
    for (std::size_t at = 0; policies.empty() && at < names_of(PolicyName()).size(); ++at) {
      results_.policies.push_back({.name = static_cast<PolicyName>(at)});
    }
    for (const PolicyName each : policies) {
      results_.policies.push_back({.name = each});
    }
    for (const Scenario* each : options.scenarios) {
      quarries_.emplace_back().scenario = each;
      results_.scenarios.emplace_back().name = each->name;
    }
  }

  HuntResults run() {
    const JobQueue queue = {
        .next = [this] { return next(); },
        .scenario_of = [this](std::size_t index) -> const Scenario& {
          return *quarries_[index].scenario;
        },
        .is_new = [this](const Job& job, const Outcome& outcome) { return is_new(job, outcome); },
        .done = [this](Done&& done) { account(done); },
    };
    run_jobs(worlds_, queue);
    note_moment();
    results_.seconds = now() - started_;
    results_.interrupted = options_.is_interrupted();
    return std::move(results_);
  }

 private:
  double now() const { return options_.clock ? options_.clock() : seconds_now(); }
  bool is_over() const {
    return options_.is_interrupted() || (options_.stop_at_first && !results_.violations.empty()) ||
           (options_.runs_max && given_ >= *options_.runs_max) ||
           (options_.budget && now() - started_ >= *options_.budget);
  }
  std::optional<Job> next();
  std::optional<Job> next_of(std::size_t index, bool may_repeat);
  bool draws_text(const Quarry& quarry) const;
  Plan draw(Quarry& quarry);
  bool has_policy(PolicyName name) const;
  PolicyName draw_policy(std::uint64_t& chance) const;
  bool is_new(const Job& job, const Outcome& outcome) const;
  void learn(Quarry& quarry, HuntedScenario& row, const Outcome& clean) const;
  void account(const Done& done);
  void note_moment();

  std::span<World* const> worlds_;
  const HuntOptions& options_;
  double started_;
  HuntResults results_;
  std::vector<Quarry> quarries_;
  std::size_t turn_ = 0;
  std::uint64_t left_in_turn_ = 1;
  std::uint64_t given_ = 0;
  std::size_t orders_ = 0;
};

std::optional<Job> Hunt::next() {
  // A scenario is passed over until its clean run is over, unless there is no other.
  for (std::size_t tried = 0; !is_over() && tried <= quarries_.size() + 1; ++tried) {
    if (left_in_turn_ == 0) {
      turn_ = (turn_ + 1) % quarries_.size();
      left_in_turn_ = quarries_[turn_].runs_in_turn;
    }
    if (std::optional<Job> job = next_of(turn_, tried > quarries_.size())) {
      --left_in_turn_;
      job->number = given_++;
      return job;
    }
    left_in_turn_ = 0;
  }
  return std::nullopt;
}

std::optional<Job> Hunt::next_of(std::size_t index, bool may_repeat) {
  Quarry& quarry = quarries_[index];
  Job job{.scenario = index, .phase = CampaignPhase::random, .plan = {}};
  if (!quarry.is_known) {
    if (quarry.is_started && !may_repeat) {
      return std::nullopt;
    }
    quarry.is_started = true;
    job.phase = CampaignPhase::clean;
    job.plan.wants_crossings = true;
    job.plan.wants_allocations = options_.has_faults;
    job.plan.parameters = unusual(quarry.scenario->parameters, options_.parameters);
  } else if (quarry.deviations_given < quarry.deviations.size() && quarry.is_turn_of_deviation &&
             !draws_text(quarry)) {
    const Deviation& deviation = quarry.deviations[quarry.deviations_given++];
    job.phase = CampaignPhase::matrix;
    job.plan.switches = deviation.pause;
    if (deviation.pause.empty()) {
      job.plan.choices.assign(deviation.question + 1, 0);
      job.plan.choices.back() = deviation.answer;
    }
    job.plan.parameters = unusual(quarry.scenario->parameters, options_.parameters);
  } else {
    job.plan = draw(quarry);
  }
  quarry.is_turn_of_deviation = !quarry.is_turn_of_deviation;
  job.plan.wants_estimate = true;
  return job;
}

/// Whether it is the turn of a drawn text, of which the deviations show but one: of three runs of
/// four.
bool Hunt::draws_text(const Quarry& quarry) const {
  constexpr std::uint64_t deviations_one_in = 4;
  return options_.draws_parameters && has_form(*quarry.scenario) && given_ % deviations_one_in != 0;
}

Plan Hunt::draw(Quarry& quarry) {
  const std::uint64_t number = quarry.random_runs++;
  std::uint64_t chance = options_.seed;
  chance = next_random(chance) + number;
  Plan plan;
  plan.seed = next_random(chance);
  plan.estimate = quarry.estimate;
  const std::uint64_t kind = next_random(chance) % kinds_of_run;
  const std::size_t faults = kind < 2 ? 0 : kind < kinds_of_run - 1 ? 1 : 2;
  for (std::size_t each = 0; each < faults && !quarry.faults.empty(); ++each) {
    const Fault& fault = quarry.faults[next_random(chance) % quarry.faults.size()];
    if (std::ranges::find(plan.faults, fault) == plan.faults.end()) {
      plan.faults.push_back(fault);
    }
  }
  // The draws themselves decide about a text, of which there are more than of all others.
  const bool is_usual = next_random(chance) % 2 == 0 && !has_form(*quarry.scenario);
  const bool has_usual = is_usual || !options_.draws_parameters;
  plan.parameters =
      has_usual ? unusual(quarry.scenario->parameters, options_.parameters)
                : draw_parameters(
                      quarry.scenario->parameters, options_.parameters, options_.seed + number);
  plan.policy = draw_policy(chance);
  // It changes the order where the fault is.
  if (!plan.faults.empty() && has_policy(PolicyName::delays) && next_random(chance) % 2 == 0) {
    plan.policy = PolicyName::delays;
  }
  return plan;
}

bool Hunt::has_policy(PolicyName name) const {
  return std::ranges::find(results_.policies, name, &HuntedPolicy::name) != results_.policies.end();
}

/// By what each has found per run. Also the least successful one keeps a share.
PolicyName Hunt::draw_policy(std::uint64_t& chance) const {
  std::vector<double> weights;
  double sum = 0;
  for (const HuntedPolicy& each : results_.policies) {
    weights.push_back(static_cast<double>(each.new_orders + each.found * 20 + 5) /
                      static_cast<double>(each.runs + 5));
    sum += weights.back();
  }
  const double least = sum / static_cast<double>(4 * weights.size());
  sum = 0;
  for (double& each : weights) {
    each = std::max(each, least);
    sum += each;
  }
  constexpr double range = 18446744073709551616.0;  // of next_random: 2^64
  double drawn = static_cast<double>(next_random(chance)) / range * sum;
  for (std::size_t at = 0; at + 1 < weights.size(); ++at) {
    if (drawn < weights[at]) {
      return results_.policies[at].name;
    }
    drawn -= weights[at];
  }
  return results_.policies.back().name;
}

bool Hunt::is_new(const Job& job, const Outcome& outcome) const {
  return std::ranges::any_of(outcome.findings, [&](const Finding& finding) {
    return !quarries_[job.scenario].claims.contains(finding.claim);
  });
}

void Hunt::learn(Quarry& quarry, HuntedScenario& row, const Outcome& clean) const {
  quarry.is_known = true;
  quarry.estimate = clean.estimate;
  quarry.deviations = deviations_of(clean, options_.seed);
  row.deviations.total = quarry.deviations.size();
  quarry.runs_in_turn = runs_in_turn_of(quarry.deviations.size());
  if (options_.has_faults && quarry.scenario->in_matrix()) {
    std::vector<Crossing> all = clean.crossings;
    all.insert(all.end(), clean.allocations.begin(), clean.allocations.end());
    quarry.faults = scenario_matrix_of(std::move(all)).faults;
  }
}

void Hunt::account(const Done& done) {
  Quarry& quarry = quarries_[done.job.scenario];
  HuntedScenario& row = results_.scenarios[done.job.scenario];
  ++results_.runs;
  ++row.runs;
  if (done.job.phase == CampaignPhase::clean) {
    learn(quarry, row, done.outcome);
  }
  row.deviations.executed += done.job.phase == CampaignPhase::matrix ? 1U : 0U;
  const std::size_t before = quarry.orders.size();
  quarry.orders.insert(done.outcome.conflicts.begin(), done.outcome.conflicts.end());
  row.orders = quarry.orders.size();
  orders_ += row.orders - before;
  std::size_t found = 0;
  for (const Finding& finding : done.outcome.findings) {
    if (!quarry.claims.insert(finding.claim).second) {
      continue;
    }
    ++found;
    Violation violation = violation_of(*quarry.scenario, done, finding, worlds_.front()->name());
    violation.repeats = done.again && done.again->findings == done.outcome.findings;
    results_.violations.push_back(std::move(violation));
  }
  results_.runs_with_findings += done.outcome.findings.empty() ? 0U : 1U;
  row.violations += done.outcome.findings.empty() ? 0U : 1U;
  if (done.job.phase == CampaignPhase::random) {
    const auto policy =
        std::ranges::find(results_.policies, done.job.planned_policy, &HuntedPolicy::name);
    ++policy->runs;
    policy->new_orders += row.orders - before;
    policy->found += found;
  }
  if ((results_.runs & (results_.runs - 1)) == 0) {
    note_moment();
  }
  options_.progress({.phase = CampaignPhase::random,
                     .done = results_.runs,
                     .total = options_.runs_max.value_or(0),
                     .runs = results_.runs,
                     .violations = results_.violations.size(),
                     .seconds = now() - started_});
}

void Hunt::note_moment() {
  results_.curve.push_back({.runs = results_.runs, .seconds = now() - started_, .orders = orders_});
}

std::string coverage_of(const HuntResults& results) {
  constexpr std::string_view row = "{:<56} {:>8} {:>16} {:>8} {:>11}\n";
  std::string text = fmt::format(row, "scenario", "runs", "deviations", "orders", "violations");
  for (const HuntedScenario& each : results.scenarios) {
    text += fmt::format(row,
                        each.name,
                        each.runs,
                        fmt::format("{} of {}", each.deviations.executed, each.deviations.total),
                        each.orders,
                        each.violations);
  }
  text += fmt::format(row, "policy", "runs", "", "new", "found first");
  for (const HuntedPolicy& each : results.policies) {
    text += fmt::format(row, name_of(each.name), each.runs, "", each.new_orders, each.found);
  }
  text += "orders of conflicting steps seen after";
  for (const HuntMoment& each : results.curve) {
    text += fmt::format(" {} runs: {},", each.runs, each.orders);
  }
  text.back() = '\n';
  return text;
}

std::string verdict_of(const HuntResults& results) {
  return fmt::format(
      "{} runs of {} scenarios in {:.1f} s, {:.0f} a second; {} with findings, {} "
      "distinct{}",
      results.runs,
      results.scenarios.size(),
      results.seconds,
      static_cast<double>(results.runs) / std::max(results.seconds, 0.001),
      results.runs_with_findings,
      results.violations.size(),
      results.interrupted ? "; interrupted" : "");
}

}  // namespace

HuntResults hunt(std::span<World* const> worlds, const HuntOptions& options) {
  return Hunt(worlds, options).run();
}

Report report_of(const HuntResults& results) {
  Report report{.verb = "hunt",
                .exit = results.violations.empty() ? Exit::clean : Exit::violation,
                .verdict = verdict_of(results),
                .after = coverage_of(results),
                .seconds = results.seconds};
  for (const Violation& each : results.violations) {
    add(report, each);
  }
  return report;
}

void add_to(Report& report, const HuntResults& results) {
  for (const Violation& each : results.violations) {
    add(report, each);
  }
  report.after = coverage_of(results) +
                 fmt::format("hunt: {} ({:.0f} % of the time)\n\n",
                             verdict_of(results),
                             100 * results.seconds / std::max(report.seconds, 0.001)) +
                 report.after;
  if (!results.violations.empty() && report.exit != Exit::violation) {
    report.exit = Exit::violation;
    report.verdict = "hunt: " + verdict_of(results);
  }
}

}  // namespace lastref::harness
