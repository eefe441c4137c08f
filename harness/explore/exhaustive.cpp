#include "harness/explore/exhaustive.hpp"

#include <algorithm>
#include <utility>

#include "harness/choice/choices.hpp"
#include "harness/choice/source_set_choices.hpp"
#include "harness/explore/deviations.hpp"
#include "harness/sim/sim_world.hpp"

namespace lastref::harness {
namespace {

constexpr std::size_t counterexamples_max = 8;

/// One search: it runs schedules until one of them, or their number, ends it.
class Search {
 public:
  Search(const Scenario& scenario,
         const ExhaustiveOptions& options,
         const Seen& seen,
         bool knows_states = false)
      : scenario_(scenario),
        options_(options),
        seen_(seen),
        world_({.split_deaths = options.split_deaths,
                .late_words = options.late_words,
                .arena = options.arena,
                .knows_states = knows_states,
                .ask_after = options.ask_after}) {
    usual_.faults = options.faults;
    usual_.parameters = options.parameters;
    usual_.wants_estimate = true;
  }

  const Plan& usual() const { return usual_; }
  Exhausted& sum() { return sum_; }
  bool is_over() const { return is_over_; }

  Outcome run(const Plan& plan) { return world_.run(scenario_, plan); }
  Outcome run(Choices& choices) { return world_.run(scenario_, usual_, choices); }

  void count(Outcome&& outcome) {
    const bool is_wanted = !seen_ || seen_(outcome);
    ++(outcome.is_cut_off ? sum_.cut_off : sum_.schedules);
    sum_.steps += world_.steps();
    sum_.longest = std::max<std::uint64_t>(sum_.longest, outcome.choices.size());
    const bool is_bad = !outcome.findings.empty();
    sum_.violations += is_bad ? 1 : 0;
    if (is_bad && sum_.counterexamples.size() < counterexamples_max) {
      sum_.counterexamples.push_back({std::move(outcome.choices), std::move(outcome.findings)});
    }
    is_over_ = !is_wanted || (is_bad && options_.stop_at_first) ||
               sum_.schedules + sum_.cut_off >= options_.runs_max;
  }

 private:
  const Scenario& scenario_;
  const ExhaustiveOptions& options_;
  const Seen& seen_;
  SimWorld world_;
  Plan usual_;
  Exhausted sum_;
  bool is_over_ = false;
};

template <typename Enumerated>
void run_all(Search& search, const ExhaustiveOptions& options, Enumerated&& choices) {
  Exhausted& sum = search.sum();
  while (!sum.complete && !search.is_over() && options.runs_max > 0) {
    search.count(search.run(choices));
    sum.complete = !choices.advance();
  }
  sum.deterministic = choices.deterministic();
}

}  // namespace

Exhausted exhaust(const Scenario& scenario, const ExhaustiveOptions& options, const Seen& seen) {
  Search search(scenario, options, seen, options.reduces);
  // Orders with few preemptions may be equivalent to one with many, which is not tried. So a bound
  // needs more than a source set (Coons, Musuvathi, McKinley 2013).
  if (options.reduces && options.preemptions == no_bound && options.deviations == no_bound) {
    SourceSetChoices choices(options.prefix);
    run_all(search, options, choices);
    search.sum().not_tried = choices.not_tried();
  } else {
    run_all(search,
            options,
            ExhaustiveChoices({.preemptions = options.preemptions,
                               .deviations = options.deviations,
                               .prefix = options.prefix,
                               .reduces = options.reduces}));
  }
  return search.sum();
}

Exhausted deviate(const Scenario& scenario, const ExhaustiveOptions& options, const Seen& seen) {
  Search search(scenario, options, seen);
  Outcome usual = search.run(search.usual());
  const std::vector<Deviation> deviations = deviations_of(usual, 0);
  search.sum().planned = deviations.size();
  search.count(std::move(usual));
  for (const Deviation& each : deviations) {
    if (search.is_over()) {
      break;
    }
    Plan plan = search.usual();
    apply(each, plan);
    search.count(search.run(plan));
  }
  search.sum().complete = search.sum().schedules == deviations.size() + 1;
  return search.sum();
}

Exhausted sample(const Scenario& scenario,
                 const ExhaustiveOptions& options,
                 std::span<const PolicyName> policies,
                 std::uint64_t seed,
                 const Seen& seen) {
  Search search(scenario, options, seen);
  Outcome usual = search.run(search.usual());
  Plan plan = search.usual();
  plan.estimate = usual.estimate;
  search.count(std::move(usual));
  for (std::size_t at = 0; !search.is_over(); ++at) {
    plan.seed = next_random(seed);
    plan.policy = policies[at % policies.size()];
    search.count(search.run(plan));
  }
  return search.sum();
}

}  // namespace lastref::harness
