// explore: schedules of one scenario: all within a bound of preemptions, all single deviations from
// the usual one, or random ones of policies.
//
// The simulated kernel finds the schedules. With --worlds the kernel world judges them as well, or
// instead: a list of answers means the same there.
#include <algorithm>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/choice/schedule_policy.hpp"
#include "harness/cli/interruption.hpp"
#include "harness/cli/report_output.hpp"
#include "harness/cli/scenarios.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/explore/exhaustive.hpp"
#include "harness/explore/plans.hpp"
#include "harness/explore/timeline.hpp"
#include "harness/platform/clock.hpp"
#include "harness/report/report.hpp"
#include "harness/sim/sim_world.hpp"

namespace lastref::harness {
namespace {

constexpr std::size_t differences_shown_max = 8;

std::set<std::string> claims_of(const Outcome& outcome) {
  std::set<std::string> claims;
  for (const Finding& each : outcome.findings) {
    claims.insert(each.claim);
  }
  return claims;
}

class Exploration {
 public:
  Exploration(const ExploreOptions& options, Invocation& invocation)
      : options_(options), invocation_(invocation) {}

  void run() {
    scenario_ = find_scenario(options_.name, invocation_);
    if (scenario_ == nullptr || !make_bounds()) {
      return;
    }
    if (scenario_->kernel_only) {
      invocation_.refuse(scenario_->name + " needs the kernel world");
      return;
    }
    if (has_kernel() && options_.split_deaths) {
      invocation_.refuse("--split-deaths: only the simulated kernel can do that");
      return;
    }
    if (has_kernel() && !invocation_.has_worlds()) {
      return;
    }
    const Interruption interruption;
    started_ = seconds_now();
    const Exhausted found = search();
    ReportOutput().write(report_of(found), std::cout, invocation_);
  }

 private:
  bool has_kernel() const { return options_.worlds != "sim"; }
  /// The world of the replay commands.
  const char* world() const { return has_kernel() ? "kernel" : "sim"; }

  bool make_bounds() {
    bounds_.preemptions = options_.no_bound ? no_bound : options_.preemptions;
    bounds_.ask_after = options_.ask_after;
    const bool has_end = options_.policies.empty() || options_.budget > 0;
    bounds_.runs_max = options_.runs.value_or(has_end ? ~std::uint64_t{0} : explored_runs_usual);
    bounds_.stop_at_first = !options_.all;
    bounds_.reduces = !options_.no_reduction && !has_kernel();
    bounds_.split_deaths = options_.split_deaths;
    // As in `replay`, so that it has the same questions. The kernel world has no late stores.
    bounds_.late_words = !has_kernel();
    auto faults = parse_faults(options_.faults, invocation_);
    if (!faults) {
      return false;
    }
    bounds_.faults = *std::move(faults);
    const auto set = parse_set(*scenario_, options_.set, invocation_);
    if (set) {
      bounds_.parameters = options_.draw
                               ? draw_parameters(scenario_->parameters, *set, *options_.draw)
                               : unusual(scenario_->parameters, *set);
    }
    return set.has_value();
  }

  Exhausted search() {
    const auto seen = [this](Outcome& outcome) { return take(outcome); };
    if (options_.deviations) {
      return deviate(*scenario_, bounds_, seen);
    }
    if (!options_.policies.empty()) {
      return sample(*scenario_, bounds_, policies_named(options_.policies), options_.seed, seen);
    }
    return exhaust(*scenario_, bounds_, seen);
  }

  /// False: it is to stop.
  bool take(Outcome& outcome) {
    conflicts_.insert(outcome.conflicts.begin(), outcome.conflicts.end());
    if (estimate_.empty() && outcome.estimate != nullptr) {
      estimate_ = *outcome.estimate;
    }
    if (has_kernel()) {
      judge_in_kernel(outcome);
    }
    const bool has_time = options_.budget == 0 || seconds_now() - started_ < options_.budget;
    return has_time && !Interruption::happened();
  }

  void judge_in_kernel(Outcome& outcome) {
    Plan plan = plan_of(outcome.choices);
    Outcome real = invocation_.worlds.first()->run(*scenario_, plan);
    const std::set<std::string> in_sim = claims_of(outcome);
    const std::set<std::string> in_kernel = claims_of(real);
    if (options_.worlds == "kernel") {
      outcome.findings = std::move(real.findings);
      return;
    }
    if (in_sim == in_kernel) {
      return;
    }
    ++differences_;
    if (shown_.size() < differences_shown_max) {
      shown_.push_back({.scenario = scenario_->name,
                        .replay = replay_command(scenario_->name, plan, "kernel"),
                        .seen = fmt::format("in the simulated kernel: {}; in the kernel: {}",
                                            text_of(in_sim),
                                            text_of(in_kernel))});
    }
    std::ranges::copy_if(real.findings,
                         std::back_inserter(outcome.findings),
                         [&](const Finding& each) { return !in_sim.contains(each.claim); });
  }

  static std::string text_of(const std::set<std::string>& claims) {
    return claims.empty() ? "no violation" : fmt::format("{}", fmt::join(claims, ", "));
  }

  Plan plan_of(const std::vector<std::uint32_t>& choices) const {
    Plan plan;
    plan.faults = bounds_.faults;
    plan.choices = choices;
    plan.parameters = bounds_.parameters;
    return plan;
  }

  Exit exit_of(const Exhausted& found) const {
    const bool has_all = found.complete || !options_.policies.empty();
    return found.violations > 0                       ? Exit::violation
           : !found.deterministic || differences_ > 0 ? Exit::not_deterministic
           : !has_all                                 ? Exit::incomplete
                                                      : Exit::clean;
  }

  /// "120 orders with at most 1 preemptions, all there are".
  std::string what_was_tried(const Exhausted& found) const {
    if (options_.deviations) {
      return fmt::format("{} orders: the usual one and {} of {} with one switch or pause",
                         found.schedules,
                         found.schedules - 1,
                         found.planned);
    }
    if (!options_.policies.empty()) {
      return fmt::format("{} orders: the usual one and random ones of {}, seed {}",
                         found.schedules,
                         fmt::join(options_.policies, ", "),
                         options_.seed);
    }
    return fmt::format("{} orders", found.schedules) + which_of_all(found) +
           what_was_left_out(found);
  }

  bool has_bound() const { return bounds_.preemptions != no_bound; }

  std::string which_of_all(const Exhausted& found) const {
    const std::string bound =
        has_bound() ? fmt::format(" with at most {} preemptions", bounds_.preemptions) : "";
    return bound + (!found.complete      ? "; there are more"
                    : !bounds_.reduces   ? ", all there are"
                    : !has_bound()       ? ", all that differ in the order of conflicting steps"
                    : found.cut_off == 0 ? ", all there are"
                                         : ", all that lead to different states");
  }

  std::string what_was_left_out(const Exhausted& found) const {
    std::string text;
    if (found.cut_off > 0) {
      text += fmt::format("; {} other runs were not needed, and ended where {}",
                          found.cut_off,
                          has_bound() ? "they came to the state of an earlier one"
                                      : "all that could follow had been tried");
    }
    if (found.not_tried > 0) {
      text += fmt::format(
          "; {} switches were not needed, because they change the order of no conflicting steps",
          found.not_tried);
    }
    return text;
  }

  std::string coverage() const {
    std::set<std::uint32_t> actors;
    std::set<std::uint64_t> objects;
    std::uint64_t steps = 0;
    for (const ActorSteps& each : estimate_) {
      actors.insert(each.actor);
      objects.insert(each.object);
      steps += each.steps;
    }
    objects.erase(0);
    std::string text = fmt::format(
        "covered: {} orders of conflicting steps; in the usual order {} actors take {} steps on "
        "{} objects\n",
        conflicts_.size(),
        actors.size(),
        steps,
        objects.size());
    if (std::ranges::find(options_.policies, name_of(PolicyName::pct)) != options_.policies.end()) {
      text +=
          fmt::format("pct: one run in {:.0f} finds a bug that needs the order of three steps\n",
                      pct_bound(actors.size(), steps));
    }
    if (options_.worlds == "both") {
      text += fmt::format("worlds: {} orders have different verdicts\n", differences_);
    }
    return text;
  }

  Report report_of(const Exhausted& found) const {
    Report report{.verb = "explore", .exit = exit_of(found)};
    for (const Counterexample& example : found.counterexamples) {
      Plan plan = plan_of(example.choices);
      const std::string replay = replay_command(scenario_->name, plan, world());
      std::optional<Timeline> timeline;
      if (!has_kernel()) {
        plan.wants_log = true;
        const Outcome again =
            SimWorld({.split_deaths = bounds_.split_deaths}).run(*scenario_, plan);
        timeline = timeline_of(*again.log, again.findings);
      }
      for (const Finding& finding : example.findings) {
        Violation violation{
            .scenario = scenario_->name,
            .claim = finding.claim,
            .seen = finding.seen,
            .fingerprint = fingerprint_of(scenario_->name, finding.claim, finding.seen),
            .repeats = true,
            .replay = replay,
            .last_crossings = {}};
        if (timeline) {
          explain(violation, *timeline);
        }
        add(report, std::move(violation));
      }
    }
    for (ViolationGroup& group : report.groups) {
      group.first.resize(1);  // The others differ in their schedules only.
    }
    report.differences = shown_;
    report.after = coverage();
    report.verdict =
        fmt::format("{}{}, {} steps, at most {} questions a run; {} with findings{}",
                    bounds_.parameters.empty() ? "" : to_text(bounds_.parameters) + ": ",
                    what_was_tried(found),
                    found.steps,
                    found.longest,
                    found.violations,
                    found.deterministic ? "" : "; NOT DETERMINISTIC");
    return report;
  }

  const ExploreOptions& options_;
  Invocation& invocation_;
  const Scenario* scenario_ = nullptr;
  ExhaustiveOptions bounds_;
  double started_ = 0;
  RunEstimate estimate_;  ///< of the first run
  std::set<std::uint64_t> conflicts_;
  std::size_t differences_ = 0;
  std::vector<Difference> shown_;  ///< The first ones
};

}  // namespace

void run(const ExploreOptions& options, Invocation& invocation) {
  Exploration(options, invocation).run();
}

}  // namespace lastref::harness
