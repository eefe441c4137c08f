#include "harness/explore/hunt.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/choice/choices.hpp"
#include "harness/explore/deviations.hpp"
#include "harness/explore/fault_draw.hpp"
#include "harness/explore/hunt_state.hpp"
#include "harness/explore/jobs.hpp"
#include "harness/explore/site_matrix.hpp"
#include "harness/platform/clock.hpp"

namespace lastref::harness {
namespace {

using Json = nlohmann::ordered_json;

/// Runs of a scenario before the next one has its turn. Few: most races show within a few runs of
/// the right scenario, so the time to the first find is the time of the first round. More for a
/// scenario with more schedules: it has more questions.
std::uint64_t runs_in_turn_of(std::size_t deviations) {
  return std::clamp(
      static_cast<std::uint64_t>(std::sqrt(deviations) / 2), std::uint64_t{2}, std::uint64_t{40});
}

/// Runs in a turn of a scenario that draws a text: each draws another, of very many.
constexpr std::uint64_t texts_in_turn = 200;

/// Half of the runs have a fault, one of eight has two: most races need none, and after one the
/// rest of a run is often short.
constexpr std::uint64_t kinds_of_run = 8;

/// So many runs with a text each, without faults, are followed by one more with each of the texts,
/// and faults at calls that the first one has made: those of the clean run are of another text. As
/// many, as several worlds have their runs side by side.
constexpr std::uint64_t texts_at_a_time = 8;
/// One of so many first runs shows its allocations as well, which takes longer.
constexpr std::uint64_t one_shows_allocations = 4;

/// Which of them a drawn run is.
struct TextRun {
  explicit TextRun(std::uint64_t number)
      : slot(number % texts_at_a_time),
        text(number / (2 * texts_at_a_time) * texts_at_a_time + slot),
        is_first(number % (2 * texts_at_a_time) < texts_at_a_time) {}

  std::uint64_t slot;
  std::uint64_t text;
  bool is_first;
};

/// Violations of one claim in one scenario that are shrunk and reported: texts that differ in each
/// run would make them all distinct.
constexpr std::ptrdiff_t shapes_max = 4;

/// What is known of a scenario.
struct Quarry {
  const Scenario* scenario = nullptr;
  bool is_started = false;
  bool is_known = false;  ///< Its clean run is over.
  std::shared_ptr<const RunEstimate> estimate;
  std::vector<Deviation> deviations;
  std::size_t deviations_given = 0;
  std::uint64_t runs_in_turn = 1;
  std::size_t orders_of_deviations = 0;  ///< Those that no other run had before
  std::uint64_t random_runs = 0;
  std::unordered_set<std::uint64_t> orders;
  std::set<std::string> fingerprints;  ///< Of all findings, before and after they were shrunk
  /// What the last first runs with a text have crossed.
  struct Text {
    std::uint64_t number = 0;
    CrossedMoments moments = {};
  };
  std::array<Text, texts_at_a_time> texts = {};
};

/// A run that was given to a world.
struct UnderWay {
  HuntState::UnderWay run = {};
  bool is_clean = false;
  std::vector<std::string> fingerprints = {};  ///< Of its findings, while they are shrunk
};

/// From 0 to 1
double draw_fraction(std::uint64_t& chance) {
  constexpr double range = 18446744073709551616.0;  // of next_random: 2^64
  return static_cast<double>(next_random(chance)) / range;
}

bool has_form(const Scenario& scenario) {
  return std::ranges::any_of(scenario.parameters, &DeclaredParameter::form);
}

class Hunt {
 public:
  Hunt(std::span<World* const> worlds, const HuntOptions& options)
      : worlds_(worlds), options_(options), started_(now()), faults_(options.scenarios.size()) {
    for (const PolicyName each : options.policies) {
      results_.policies.push_back({.name = each});
    }
    for (const Scenario* each : options.scenarios) {
      quarries_.emplace_back().scenario = each;
      results_.scenarios.emplace_back().name = each->name;
    }
    if (options.from != nullptr) {
      restore(*options.from);
    }
  }

  HuntResults run() {
    repeat_clean_runs();
    const JobQueue queue = {
        .next = [this] { return next(); },
        .scenario_of = [this](std::size_t index) -> const Scenario& {
          return *quarries_[index].scenario;
        },
        .is_new = [this](const Job& job, const Outcome& outcome) { return is_new(job, outcome); },
        .done = [this](Done&& done) { account(done); },
    };
    run_jobs(worlds_, queue);
    results_.seconds = seconds();
    save();
    note_moment();
    results_.interrupted = options_.is_interrupted();
    return std::move(results_);
  }

 private:
  double now() const { return options_.clock ? options_.clock() : seconds_now(); }
  /// With those of the hunt that is continued.
  double seconds() const {
    return now() - started_ + (options_.from == nullptr ? 0 : options_.from->results.seconds);
  }
  bool is_stopped() const {
    return options_.is_interrupted() ||
           (options_.stop_at_first && results_.violations.size() > known_violations_) ||
           (options_.budget && now() - started_ >= *options_.budget);
  }
  bool is_over() const {
    return is_stopped() || (options_.runs_max && given_ >= *options_.runs_max);
  }
  void restore(const HuntState& state);
  void repeat_clean_runs();
  void repeat(std::vector<Job> jobs, const std::function<void(const Done&)>& learn);
  HuntState state() const;
  void save();
  std::optional<Job> next();
  std::optional<Job> again();
  std::optional<Job> next_of(std::size_t index, bool may_repeat);
  bool takes_deviation(const Quarry& quarry) const;
  Job clean_job(std::size_t index) const;
  Job job_of(const HuntState::UnderWay& run, std::optional<PolicyName> policy) const;
  Plan draw(std::size_t index, std::uint64_t number, std::optional<PolicyName> policy) const;
  std::optional<Fault> draw_fault(std::size_t index,
                                  std::uint64_t number,
                                  std::uint64_t& chance) const;
  bool draws_text(const Quarry& quarry) const {
    return options_.draws_parameters && has_form(*quarry.scenario);
  }
  /// Whether each text has two runs, the second one with faults.
  bool repeats_texts(const Quarry& quarry) const {
    return options_.has_faults && draws_text(quarry) && quarry.scenario->in_matrix();
  }
  void learn_text(Quarry& quarry, std::uint64_t number, const Outcome& first);
  PolicyName draw_policy(std::uint64_t& chance) const;
  bool is_new(const Job& job, const Outcome& outcome);
  void learn(std::size_t index, const Outcome& clean);
  std::size_t add_violations(Quarry& quarry, const Done& done);
  void account(const Done& done);
  void note_moment();

  std::span<World* const> worlds_;
  const HuntOptions& options_;
  double started_;
  HuntResults results_;
  std::vector<Quarry> quarries_;
  FaultDraw faults_;
  std::size_t turn_ = 0;
  std::uint64_t left_in_turn_ = 1;
  std::uint64_t given_ = 0;
  std::size_t orders_ = 0;
  std::map<std::uint64_t, UnderWay> under_way_;  ///< By the number of the run
  std::vector<HuntState::UnderWay> to_repeat_;   ///< They were under way when the state was saved.
  std::size_t known_violations_ = 0;             ///< Those of the hunt that is continued
  double saved_ = now();
};

void Hunt::restore(const HuntState& state) {
  results_ = state.results;
  turn_ = state.turn;
  left_in_turn_ = state.left_in_turn;
  given_ = state.given;
  to_repeat_ = state.under_way;
  std::ranges::reverse(to_repeat_);
  known_violations_ = results_.violations.size();
  for (std::size_t at = 0; at < quarries_.size(); ++at) {
    const HuntState::Scenario& from = state.scenarios[at];
    Quarry& quarry = quarries_[at];
    quarry.is_started = quarry.is_known = from.is_known;
    quarry.deviations_given = from.deviations_given;
    quarry.orders_of_deviations = from.orders_of_deviations;
    quarry.random_runs = from.random_runs;
    quarry.orders = {from.orders.begin(), from.orders.end()};
    quarry.fingerprints = {from.fingerprints.begin(), from.fingerprints.end()};
    orders_ += quarry.orders.size();
  }
}

/// Those of the hunt that is continued, for what they show; and the first runs of texts.
void Hunt::repeat_clean_runs() {
  std::vector<Job> clean;
  for (std::size_t index = 0; index < quarries_.size(); ++index) {
    if (quarries_[index].is_known) {
      clean.push_back(clean_job(index));
    }
  }
  repeat(std::move(clean), [this](const Done& done) { learn(done.job.scenario, done.outcome); });
  std::vector<Job> first;
  for (std::size_t index = 0; index < quarries_.size(); ++index) {
    const std::uint64_t runs = quarries_[index].random_runs;
    const std::uint64_t begin = runs - runs % (2 * texts_at_a_time);
    const std::uint64_t end = std::min(runs, begin + texts_at_a_time);
    for (std::uint64_t number = begin; repeats_texts(quarries_[index]) && number < end; ++number) {
      first.push_back(job_of({.scenario = index, .index = number}, std::nullopt));
      first.back().number = number;
    }
  }
  repeat(std::move(first), [this](const Done& done) {
    learn_text(quarries_[done.job.scenario], done.job.number, done.outcome);
  });
}

void Hunt::repeat(std::vector<Job> jobs, const std::function<void(const Done&)>& learn) {
  std::size_t next = 0;
  run_jobs(
      worlds_,
      {.next = [&]() -> std::optional<Job> {
         return next == jobs.size() ? std::nullopt : std::optional(jobs[next++]);
       },
       .scenario_of = [this](std::size_t at) -> const Scenario& { return *quarries_[at].scenario; },
       .is_new = [](const Job&, const Outcome&) { return false; },
       .done = [&](Done&& done) { learn(done); }});
}

HuntState Hunt::state() const {
  HuntState state{.hunt = identity_of(options_),
                  .results = results_,
                  .turn = turn_,
                  .left_in_turn = left_in_turn_,
                  .given = given_};
  for (const Quarry& each : quarries_) {
    state.scenarios.push_back(
        {.is_known = each.is_known,
         .deviations_given = each.deviations_given,
         .orders_of_deviations = each.orders_of_deviations,
         .random_runs = each.random_runs,
         .orders = {each.orders.begin(), each.orders.end()},
         .fingerprints = {each.fingerprints.begin(), each.fingerprints.end()}});
    std::ranges::sort(state.scenarios.back().orders);
  }
  for (const auto& [number, each] : under_way_) {
    if (!each.is_clean) {  // A scenario that is not known begins with its clean run in any case.
      state.under_way.push_back(each.run);
    }
  }
  state.under_way.insert(state.under_way.end(), to_repeat_.rbegin(), to_repeat_.rend());
  return state;
}

void Hunt::save() {
  saved_ = now();
  if (options_.save) {
    options_.save(state());
  }
}

std::optional<Job> Hunt::next() {
  if (std::optional<Job> job = is_stopped() ? std::nullopt : again()) {
    return job;
  }
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

/// One of the runs that were not over when the hunt was stopped that is continued.
std::optional<Job> Hunt::again() {
  while (!to_repeat_.empty()) {
    const HuntState::UnderWay run = to_repeat_.back();
    to_repeat_.pop_back();
    if (!run.is_deviation || run.index < quarries_[run.scenario].deviations.size()) {
      Job job = job_of(run, run.policy);
      job.number = run.number;
      under_way_[run.number] = {.run = run};
      return job;
    }
  }
  return std::nullopt;
}

std::optional<Job> Hunt::next_of(std::size_t index, bool may_repeat) {
  Quarry& quarry = quarries_[index];
  if (!quarry.is_known && quarry.is_started && !may_repeat) {
    return std::nullopt;
  }
  UnderWay given{.run = {.number = given_, .scenario = index}};
  Job job;
  if (!quarry.is_known) {
    quarry.is_started = given.is_clean = true;
    job = clean_job(index);
  } else {
    given.run.is_deviation = takes_deviation(quarry);
    given.run.index = given.run.is_deviation ? quarry.deviations_given++ : quarry.random_runs++;
    given.run.policy = results_.policies.front().name;
    job = job_of(given.run, std::nullopt);
    given.run.policy = given.run.is_deviation ? given.run.policy : job.plan.policy;
  }
  under_way_[given_] = std::move(given);
  return job;
}

Job Hunt::clean_job(std::size_t index) const {
  Job job{.scenario = index, .phase = CampaignPhase::clean, .plan = {}};
  job.plan.wants_crossings = true;
  job.plan.wants_allocations = options_.has_faults;
  job.plan.wants_estimate = true;
  job.plan.wants_turns = true;
  job.plan.parameters = unusual(quarries_[index].scenario->parameters, options_.parameters);
  return job;
}

/// Without a policy, a random run draws one.
Job Hunt::job_of(const HuntState::UnderWay& run, std::optional<PolicyName> policy) const {
  const Quarry& quarry = quarries_[run.scenario];
  Job job{.scenario = run.scenario, .phase = CampaignPhase::random, .plan = {}};
  if (run.is_deviation) {
    job.phase = CampaignPhase::matrix;
    apply(quarry.deviations[run.index], job.plan);
    job.plan.parameters = unusual(quarry.scenario->parameters, options_.parameters);
  } else {
    job.plan = draw(run.scenario, run.index, policy);
    const TextRun text(run.index);
    job.plan.wants_crossings = repeats_texts(quarry) && text.is_first;
    job.plan.wants_allocations = job.plan.wants_crossings && text.slot % one_shows_allocations == 0;
  }
  job.plan.wants_estimate = true;
  return job;
}

/// Whether the next run is a deviation: more often the more new orders of steps these have had per
/// run, compared to drawn runs. Of texts they show but one.
bool Hunt::takes_deviation(const Quarry& quarry) const {
  if (quarry.deviations_given >= quarry.deviations.size()) {
    return false;
  }
  const auto promise = [](std::size_t orders, std::uint64_t runs) {
    return static_cast<double>(orders + 5) / static_cast<double>(runs + 5);
  };
  const double deviations = promise(quarry.orders_of_deviations, quarry.deviations_given);
  const double draws =
      promise(quarry.orders.size() - quarry.orders_of_deviations, quarry.random_runs);
  const double most = draws_text(quarry) ? 0.25 : 0.5;
  std::uint64_t chance = options_.seed ^ given_;
  return draw_fraction(chance) < std::clamp(deviations / (deviations + draws), 0.1, most);
}

Plan Hunt::draw(std::size_t index, std::uint64_t number, std::optional<PolicyName> policy) const {
  const Quarry& quarry = quarries_[index];
  std::uint64_t chance = options_.seed;
  chance = next_random(chance) + number;
  Plan plan;
  plan.seed = next_random(chance);
  plan.estimate = quarry.estimate;
  const std::uint64_t kind = next_random(chance) % kinds_of_run;
  const TextRun text(number);
  const bool has_two = repeats_texts(quarry);
  const bool is_first = has_two && text.is_first;
  const std::uint64_t without = has_two ? 1 : kinds_of_run / 2;
  const std::uint64_t with_two = has_two ? 2 : 1;
  const std::size_t faults = is_first || kind < without       ? 0
                             : kind < kinds_of_run - with_two ? 1
                                                              : 2;
  for (std::size_t each = 0; each < faults; ++each) {
    const std::optional<Fault> fault = draw_fault(index, number, chance);
    if (fault && std::ranges::find(plan.faults, *fault) == plan.faults.end()) {
      plan.faults.push_back(*fault);
    }
  }
  // Not the sum of seed and number: the next seed would draw the same values, one run later.
  std::uint64_t values = options_.seed;
  values = next_random(values) + (has_two ? text.text : number);
  values = next_random(values);
  // The draws themselves decide about a text, of which there are more than of all others.
  const bool is_usual = next_random(chance) % 2 == 0 && !has_form(*quarry.scenario);
  const bool has_usual = is_usual || !options_.draws_parameters;
  plan.parameters = has_usual
                        ? unusual(quarry.scenario->parameters, options_.parameters)
                        : draw_parameters(quarry.scenario->parameters, options_.parameters, values);
  if (policy) {
    plan.policy = *policy;
    return plan;
  }
  // A first run is made again when a hunt is continued, which does not know what was drawn.
  plan.policy =
      is_first ? options_.policies[text.text % options_.policies.size()] : draw_policy(chance);
  return plan;
}

/// At a call of the same text, if its first run is over.
std::optional<Fault> Hunt::draw_fault(std::size_t index,
                                      std::uint64_t number,
                                      std::uint64_t& chance) const {
  const Quarry& quarry = quarries_[index];
  const TextRun run(number);
  const Quarry::Text& text = quarry.texts.at(run.slot);
  const bool is_known =
      repeats_texts(quarry) && text.number == run.text && !text.moments.places.empty();
  return is_known ? FaultDraw::draw(text.moments, chance) : faults_.draw(index, chance);
}

void Hunt::learn_text(Quarry& quarry, std::uint64_t number, const Outcome& first) {
  std::vector<Crossing> all = first.crossings;
  all.insert(all.end(), first.allocations.begin(), first.allocations.end());
  quarry.texts.at(TextRun(number).slot) = {.number = TextRun(number).text,
                                           .moments = faults_.moments_in(std::move(all))};
}

/// By what each has found per run. Also the least successful one keeps a share: new orders are few
/// where the windows of races are.
PolicyName Hunt::draw_policy(std::uint64_t& chance) const {
  std::vector<double> weights;
  double sum = 0;
  for (const HuntedPolicy& each : results_.policies) {
    weights.push_back(static_cast<double>(each.new_orders + each.found * 20 + 5) /
                      static_cast<double>(each.runs + 5));
    sum += weights.back();
  }
  const double least = sum / static_cast<double>(2 * weights.size());
  sum = 0;
  for (double& each : weights) {
    each = std::max(each, least);
    sum += each;
  }
  double drawn = draw_fraction(chance) * sum;
  for (std::size_t at = 0; at + 1 < weights.size(); ++at) {
    if (drawn < weights[at]) {
      return results_.policies[at].name;
    }
    drawn -= weights[at];
  }
  return results_.policies.back().name;
}

/// Then they are no longer new: another world that finds them does not shrink them as well.
bool Hunt::is_new(const Job& job, const Outcome& outcome) {
  const Quarry& quarry = quarries_[job.scenario];
  const std::string& name = quarry.scenario->name;
  UnderWay& run = under_way_[job.number];
  bool any = false;
  for (const Finding& finding : outcome.findings) {
    const std::string fingerprint = fingerprint_of(name, finding.claim, finding.seen);
    const bool is_shrunk_elsewhere = std::ranges::any_of(under_way_, [&](const auto& each) {
      return std::ranges::find(each.second.fingerprints, fingerprint) !=
             each.second.fingerprints.end();
    });
    const auto reported = std::ranges::count_if(results_.violations, [&](const Violation& each) {
      return each.scenario == name && each.claim == finding.claim;
    });
    if (!quarry.fingerprints.contains(fingerprint) && !is_shrunk_elsewhere &&
        reported < shapes_max) {
      run.fingerprints.push_back(fingerprint);
      any = true;
    }
  }
  return any;
}

void Hunt::learn(std::size_t index, const Outcome& clean) {
  Quarry& quarry = quarries_[index];
  quarry.is_known = true;
  quarry.estimate = clean.estimate;
  quarry.deviations = deviations_of(clean, options_.seed);
  results_.scenarios[index].deviations.total = quarry.deviations.size();
  quarry.runs_in_turn =
      draws_text(quarry) ? texts_in_turn : runs_in_turn_of(quarry.deviations.size());
  if (options_.has_faults && quarry.scenario->in_matrix()) {
    std::vector<Crossing> all = clean.crossings;
    all.insert(all.end(), clean.allocations.begin(), clean.allocations.end());
    faults_.learn(index, scenario_matrix_of(all));
  }
}

/// The number of those that are new.
std::size_t Hunt::add_violations(Quarry& quarry, const Done& done) {
  const std::string& name = quarry.scenario->name;
  const auto under_way = under_way_.extract(done.job.number);
  if (under_way.mapped().fingerprints.empty()) {
    return 0;
  }
  std::size_t found = 0;
  for (const Finding& finding : done.outcome.findings) {
    std::string fingerprint = fingerprint_of(name, finding.claim, finding.seen);
    const bool is_reported =
        std::ranges::find(results_.violations, fingerprint, &Violation::fingerprint) !=
        results_.violations.end();
    if (is_reported) {
      continue;
    }
    ++found;
    quarry.fingerprints.insert(fingerprint);
    Violation violation = violation_of(*quarry.scenario, done, finding, worlds_.front()->name());
    violation.fingerprint = std::move(fingerprint);
    violation.repeats = done.again && done.again->findings == done.outcome.findings;
    results_.violations.push_back(std::move(violation));
  }
  quarry.fingerprints.insert(under_way.mapped().fingerprints.begin(),
                             under_way.mapped().fingerprints.end());
  return found;
}

void Hunt::account(const Done& done) {
  Quarry& quarry = quarries_[done.job.scenario];
  HuntedScenario& row = results_.scenarios[done.job.scenario];
  ++results_.runs;
  ++row.runs;
  row.seconds += done.seconds;
  if (done.job.phase == CampaignPhase::clean) {
    learn(done.job.scenario, done.outcome);
  } else if (done.job.plan.wants_crossings) {
    learn_text(quarry, under_way_.at(done.job.number).run.index, done.outcome);
  }
  row.deviations.executed += done.job.phase == CampaignPhase::matrix ? 1U : 0U;
  const std::size_t before = quarry.orders.size();
  quarry.orders.insert(done.outcome.conflicts.begin(), done.outcome.conflicts.end());
  row.orders = quarry.orders.size();
  orders_ += row.orders - before;
  if (done.job.phase == CampaignPhase::matrix) {
    quarry.orders_of_deviations += row.orders - before;
  }
  const std::size_t found = add_violations(quarry, done);
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
  if (now() - saved_ >= seconds_between_saves) {
    results_.seconds = seconds();
    save();
  }
  options_.progress({.phase = CampaignPhase::random,
                     .done = results_.runs,
                     .total = options_.runs_max.value_or(0),
                     .runs = results_.runs,
                     .violations = results_.violations.size(),
                     .seconds = seconds()});
}

void Hunt::note_moment() {
  results_.curve.push_back({.runs = results_.runs, .seconds = seconds(), .orders = orders_});
}

ReportCase case_of(const HuntedScenario& scenario) {
  ReportCase made = case_of_scenario(scenario.name);
  made.output = fmt::format("{} runs, {} of {} deviations, {} orders of conflicting steps",
                            scenario.runs,
                            scenario.deviations.executed,
                            scenario.deviations.total,
                            scenario.orders);
  made.seconds = scenario.seconds;
  return made;
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

/// `coverage_of`, for programs.
Json fields_of(const HuntResults& results) {
  Json scenarios = Json::array();
  for (const HuntedScenario& each : results.scenarios) {
    scenarios.push_back({{"name", each.name},
                         {"runs", each.runs},
                         {"deviations", each.deviations.total},
                         {"deviations_executed", each.deviations.executed},
                         {"orders", each.orders},
                         {"violations", each.violations},
                         {"seconds", each.seconds}});
  }
  Json policies = Json::array();
  for (const HuntedPolicy& each : results.policies) {
    policies.push_back({{"name", name_of(each.name)},
                        {"runs", each.runs},
                        {"new_orders", each.new_orders},
                        {"found", each.found}});
  }
  Json curve = Json::array();
  for (const HuntMoment& each : results.curve) {
    curve.push_back({{"runs", each.runs}, {"seconds", each.seconds}, {"orders", each.orders}});
  }
  return {{"runs", results.runs},
          {"runs_with_findings", results.runs_with_findings},
          {"seconds", results.seconds},
          {"interrupted", results.interrupted},
          {"scenarios", std::move(scenarios)},
          {"policies", std::move(policies)},
          {"curve", std::move(curve)}};
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
                .seconds = results.seconds,
                .fields = std::make_shared<const Json>(fields_of(results))};
  for (const Violation& each : results.violations) {
    add(report, each);
  }
  for (const HuntedScenario& each : results.scenarios) {
    report.cases.push_back(case_of(each));
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
