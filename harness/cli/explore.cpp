// explore: every order of one scenario in the simulated kernel, within a bound of preemptions.
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "harness/cli/scenarios.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/explore/exhaustive.hpp"
#include "harness/explore/jobs.hpp"
#include "harness/explore/plans.hpp"
#include "harness/report/text.hpp"

namespace lastref::harness {
namespace {

struct ExploreOptions {
  std::string name;
  std::uint32_t preemptions = 1;
  std::uint64_t runs = ~std::uint64_t{0};
  double budget = 0;
  std::string ask_after;
  std::vector<std::string> faults;
  bool split_deaths = false;
  bool all = false;
};

void print(const Scenario& scenario, const ExhaustiveOptions& bounds, const Exhausted& found) {
  for (const Counterexample& example : found.counterexamples) {
    Plan plan;
    plan.faults = bounds.faults;
    plan.choices = example.choices;
    for (const Finding& finding : example.findings) {
      const Violation violation{.scenario = scenario.name,
                                .claim = finding.claim,
                                .seen = finding.seen,
                                .repeats = true,
                                .replay = replay_command(scenario.name, plan, "sim"),
                                .last_crossings = {}};
      std::cout << to_text(violation) << '\n';
    }
  }
  std::cout << fmt::format(
      "{} orders with at most {} preemptions{}, {} steps, at most {} questions a run; {} with "
      "findings{}\n",
      found.schedules,
      bounds.preemptions,
      found.complete ? ", all there are" : "; there are more",
      found.steps,
      found.longest,
      found.violations,
      found.deterministic ? "" : "; NOT DETERMINISTIC");
}

Exit exit_of(const Exhausted& found) {
  return found.violations > 0   ? Exit::violation
         : !found.deterministic ? Exit::not_deterministic
         : !found.complete      ? Exit::incomplete
                                : Exit::clean;
}

void run(const ExploreOptions& options, Session& session) {
  const Scenario* scenario = find_scenario(options.name, session);
  if (scenario == nullptr) {
    return;
  }
  if (scenario->kernel_only) {
    session.refuse(scenario->name + " needs the kernel world");
    return;
  }
  ExhaustiveOptions bounds;
  bounds.preemptions = options.preemptions;
  bounds.ask_after = options.ask_after;
  bounds.runs_max = options.runs;
  bounds.stop_at_first = !options.all;
  bounds.split_deaths = options.split_deaths;
  if (!parse_faults(options.faults, bounds.faults, session)) {
    return;
  }
  const double end = options.budget > 0 ? seconds_now() + options.budget : 0;
  const Exhausted found =
      exhaust(*scenario, bounds, [end](const Outcome&) { return end == 0 || seconds_now() < end; });
  print(*scenario, bounds, found);
  session.end(exit_of(found));
}

}  // namespace

void add_explore(CLI::App& app, Session& session) {
  auto options = std::make_shared<ExploreOptions>();
  CLI::App* verb = app.add_subcommand(
      "explore", "Every order of one scenario in the simulated kernel, within a bound");
  verb->add_option("scenario", options->name, "Its name, as list gives it")->required();
  verb->add_option("--preemptions", options->preemptions, "Most switches that nobody had to make")
      ->check(whole_number())
      ->capture_default_str();
  verb->add_option("--runs", options->runs, "At most so many")->check(whole_number());
  verb->add_option("--budget", options->budget, "Seconds")->check(above_zero());
  verb->add_option(
          "--ask-after", options->ask_after, "All goes the usual way until every role said it")
      ->type_name("WORD");
  verb->add_option("--fault", options->faults, "A fault in every run; as often as needed")
      ->type_name("TEXT")
      ->expected(1)
      ->take_all();
  verb->add_flag("--split-deaths", options->split_deaths, "A death is two steps");
  verb->add_flag("--all", options->all, "Goes on behind the first that finds something");
  verb->callback([options, &session] { run(*options, session); });
}

}  // namespace lastref::harness
