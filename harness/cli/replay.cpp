// replay: one run of one scenario, with given faults and answers.
#include <algorithm>
#include <iostream>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "harness/choice/choices.hpp"
#include "harness/cli/names.hpp"
#include "harness/cli/report_output.hpp"
#include "harness/cli/scenarios.hpp"
#include "harness/cli/target.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/explore/compared_world.hpp"
#include "harness/explore/plans.hpp"
#include "harness/explore/timeline.hpp"
#include "harness/platform/names.hpp"
#include "harness/report/report.hpp"

namespace lastref::harness {
namespace {

class Replay {
 public:
  Replay(const ReplayOptions& options, Invocation& invocation)
      : options_(options),
        invocation_(invocation),
        page_(options.html),
        people_(page_.takes_standard_output() ? std::cerr : std::cout) {}

  void run() {
    const Scenario* scenario = find_scenario(options_.name, invocation_);
    if (scenario == nullptr || !make_plan(*scenario)) {
      return;
    }
    if (!options_.ambient.empty() && !has_ambient(options_.ambient, invocation_)) {
      return;
    }
    if (scenario->kernel_only && invocation_.worlds.kind() == "sim") {
      invocation_.refuse(scenario->name + " needs the kernel world");
      return;
    }
    if (!invocation_.has_worlds()) {
      return;
    }
    if (!page_.open()) {
      invocation_.refuse("cannot write " + page_.path());
      return;
    }
    if (const std::string& degraded = invocation_.worlds.degraded(); !degraded.empty()) {
      std::cerr << "lastref: the kernel world is DEGRADED: " << degraded << '\n';
    }
    if (plan_.policy != PolicyName::sticky) {
      Plan usual;
      usual.wants_estimate = true;
      plan_.estimate = invocation_.worlds.first()->run(*scenario, usual).estimate;
    }
    CleanResults clean;
    const Outcome outcome = ComparedWorld(*invocation_.worlds.first(), clean).run(*scenario, plan_);
    if (options_.trace) {
      for (const Crossing& crossing : outcome.crossings) {
        people_ << to_text(crossing) << '\n';
      }
      people_ << "probes: " << names_of(outcome.probes) << '\n';
    }
    if (!outcome.standard_error.empty()) {
      people_ << "standard error of the run:\n" << outcome.standard_error << '\n';
    }
    std::optional<Timeline> timeline;
    if (outcome.log != nullptr) {
      timeline = timeline_of(*outcome.log, outcome.findings);
    }
    if (options_.timeline) {
      people_ << to_text(*timeline) << '\n';
    }
    judge(*scenario, outcome, timeline);
    if (page_.wanted() && !page_.write(to_html(*timeline, scenario->name, command(*scenario)))) {
      invocation_.refuse("cannot write " + page_.path());
    }
  }

 private:
  bool make_plan(const Scenario& scenario) {
    auto faults = parse_faults(options_.faults, invocation_);
    if (!faults) {
      return false;
    }
    plan_.faults = *std::move(faults);
    const auto set = parse_set(scenario, options_.set, invocation_);
    if (!set) {
      return false;
    }
    plan_.parameters = unusual(scenario.parameters, *set);
    const auto choices = parse_choices(options_.choices);
    if (!choices) {
      invocation_.refuse(
          fmt::format("--choices {}: not a list of answers such as 2.+44.1", options_.choices));
      return false;
    }
    plan_.choices = *choices;
    plan_.seed = options_.seed;
    plan_.policy = policy_named(options_.policy).value_or(PolicyName::sticky);
    plan_.ambient = options_.ambient;
    plan_.wants_crossings = true;
    // In the kernel world it would go through a pipe, and has no switches to explain.
    plan_.wants_log = options_.timeline || page_.wanted() || invocation_.worlds.kind() == "sim";
    return true;
  }

  std::string command(const Scenario& scenario) const {
    return replay_command(scenario.name, plan_, invocation_.worlds.kind());
  }

  void judge(const Scenario& scenario,
             const Outcome& outcome,
             const std::optional<Timeline>& timeline) {
    Report report{.verb = "replay"};
    for (const Finding& finding : outcome.findings) {
      Violation violation{.scenario = scenario.name,
                          .claim = finding.claim,
                          .seen = finding.seen,
                          .repeats = true,
                          .replay = command(scenario),
                          .last_crossings = outcome.last_crossings};
      if (timeline) {
        explain(violation, *timeline);
      }
      if (options_.timeline) {
        violation.timeline.clear();  // All of it was printed.
      }
      add(report, std::move(violation));
    }
    if (!outcome.findings.empty()) {
      report.exit = Exit::violation;
      report.verdict = counted(outcome.findings.size(), "violation");
    } else if (outcome.faults_fired < plan_.faults.size()) {
      report.exit = Exit::does_not_apply;
      report.after = points_not_reached(outcome);
      report.verdict = fmt::format("does not apply: {} of {} faults were injected",
                                   outcome.faults_fired,
                                   plan_.faults.size());
    } else {
      report.verdict =
          fmt::format("clean: {} crossings, {} kills", outcome.crossings.size(), outcome.kills);
    }
    ReportOutput().write(report, people_, invocation_);
  }

  /// With points of the run that are similar.
  std::string points_not_reached(const Outcome& outcome) const {
    std::vector<std::string> sites;
    for (const Crossing& crossing : outcome.crossings) {
      sites.push_back(to_text(crossing.site));
    }
    std::string text;
    for (const Fault& fault : plan_.faults) {
      const std::string site = to_text(fault.site);
      if (std::ranges::find(sites, site) == sites.end()) {
        text += fmt::format("  {} was not reached{}\n", site, suggestion(site, sites));
      }
    }
    return text;
  }

  const ReplayOptions& options_;
  Invocation& invocation_;
  Target page_;
  std::ostream& people_;
  Plan plan_;
};

}  // namespace

void run(const ReplayOptions& options, Invocation& invocation) {
  Replay(options, invocation).run();
}

}  // namespace lastref::harness
