#include "harness/explore/campaign.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <lastref/probe.hpp>

#include "harness/choice/choices.hpp"
#include "harness/explore/ambient_runs.hpp"
#include "harness/explore/compared_world.hpp"
#include "harness/explore/jobs.hpp"
#include "harness/explore/matrix.hpp"
#include "harness/explore/plans.hpp"
#include "harness/explore/progress_file.hpp"
#include "harness/explore/report_builder.hpp"
#include "harness/explore/sampler.hpp"
#include "harness/explore/second_level.hpp"
#include "harness/explore/site_matrix.hpp"
#include "harness/platform/clock.hpp"
#include "harness/platform/hash.hpp"
#include "harness/platform/names.hpp"

namespace lastref::harness {
namespace {

/// One of this many random runs is run twice, and has to be identical.
constexpr std::size_t twice_every = 64;
/// Prefix of the report columns for failing allocations.
constexpr std::string_view column_of_allocations = "allocation";
/// The share of a budget in which clean runs are made twice.
constexpr double share_of_second_runs = 0.5;

std::vector<Crossing> with_allocations(const Outcome& outcome) {
  std::vector<Crossing> all = outcome.crossings;
  all.insert(all.end(), outcome.allocations.begin(), outcome.allocations.end());
  return all;
}

/// Empty: until the budget is used up.
std::optional<std::size_t> most_random_runs(const CampaignOptions& options) {
  if (options.random_runs_max || options.budget) {
    return options.random_runs_max;
  }
  return static_cast<std::size_t>(options.share * random_runs_usual);
}

/// Adds the points and probes that an earlier campaign reached.
void recall(const ProgressFile& memory, ReportBuilder& builder) {
  for (const std::string& name : memory.reached()) {
    if (const std::size_t point = point_named(name); point < points_max) {
      builder.reach(point);
    }
  }
  for (const std::string& name : memory.seen()) {
    builder.probe_counts().remember(name);
  }
}

/// Adds the crossings that its faults led to. Scenarios are identified by name, and their order is
/// that of this campaign.
void recall(const ProgressFile& memory,
            std::span<const ScenarioReport> scenarios,
            SecondLevel& second_level) {
  for (const Aftermath& known : memory.aftermaths()) {
    const auto found = std::ranges::find(scenarios, known.scenario, &ScenarioReport::name);
    if (found != scenarios.end()) {
      const auto index = static_cast<std::size_t>(found - scenarios.begin());
      second_level.add(index, known.first, std::span(&known.crossing, 1));
    }
  }
}

/// Stores the points that a run was the first to reach, and the probes that it saw.
void remember(const PointSet& fresh, const ProbeSet& probes, ProgressFile& memory) {
  for (std::size_t point = 0; fresh.any() && point < number_of_points(); ++point) {
    if (fresh.test(point)) {
      memory.add_reached(name_of_point(point));
    }
  }
  for (const ProbeRow& row : probe_rows()) {
    if (probes.test(static_cast<std::size_t>(row.probe))) {
      memory.add_seen(row.name);
    }
  }
}

class Campaign {
 public:
  Campaign(std::span<World* const> worlds, const CampaignOptions& options)
      : worlds_(worlds),
        options_(options),
        memory_(options.memory == nullptr ? own_memory_ : *options.memory),
        started_(now()),
        sampler_(options.share, options.seed),
        builder_(worlds.front()->name()),
        ambient_runs_(options, report_) {}

  CampaignResults run() {
    begin();
    if (!options_.only_ambients) {
      run_clean();
      run_matrix();
      run_second_level();
    }
    run_ambients();
    if (!options_.only_ambients) {
      run_random();
    }
    finish();
    return std::move(report_);
  }

 private:
  double now() const { return options_.clock ? options_.clock() : seconds_now(); }
  double seconds() const { return now() - started_; }
  bool found_enough() const {
    return options_.stop_at_first && (report_.violations > 0 || !report_.differences.empty());
  }
  bool is_stopped() const { return found_enough() || options_.is_interrupted(); }
  bool is_over() const {
    return is_stopped() || (options_.budget && seconds() >= *options_.budget);
  }
  bool has_time_to_run_again() const {
    return !is_over() && (phase_ == CampaignPhase::random || !options_.budget ||
                          seconds() < *options_.budget * share_of_second_runs);
  }
  const Scenario& scenario(std::size_t index) const { return *options_.scenarios[index]; }
  const Fault& fault_of(const Cell& cell) const {
    return matrices_[cell.scenario].faults[cell.fault];
  }
  /// The other clean runs only show what the plan follows from.
  bool counts(const Job& job) const {
    return job.phase != CampaignPhase::clean || options_.shard.has(job.scenario);
  }

  bool fails_allocations() const {
    return column_of_allocations.starts_with(options_.only) ||
           options_.only.starts_with(column_of_allocations);
  }
  void begin();
  void run_clean();
  void run_matrix();
  void run_second_level();
  void run_ambients();
  void run_random();
  void finish();

  std::optional<Job> next_clean();
  std::optional<Job> next_of_matrix();
  void enumerate(const Done& done);
  void plan();
  bool is_drawn(const Cell& cell) const;
  void plan(const Cell& cell, std::size_t number);
  void execute(const Done& done);
  std::optional<Job> next_of_second_level();
  void plan_pair(const PlannedRun& pair);
  void count_pair(const PlannedRun& pair);
  void execute_pair(const Done& done);
  bool has_random_run(std::size_t number) const;
  void count_random_pair(const Done& done);
  std::optional<Job> next_in_ambient();
  void play_in_ambient(const Done& done);
  void say_what_is_left_out();
  void work(std::function<std::optional<Job>()> next, void (Campaign::*handle)(const Done&));
  void account(const Done& done);
  void say(CampaignPhase phase, std::size_t total);
  Job job_of(std::size_t index, CampaignPhase phase, std::size_t number, Plan&& made) const;
  ParameterValues usual_parameters(std::size_t index) const;
  ParameterValues draw_parameters(std::size_t index, std::size_t random_run);
  Job clean_job(std::size_t index, bool twice) const;

  ComparedWorlds worlds_;
  const CampaignOptions& options_;
  ProgressFile own_memory_;  ///< Without a file: used if none is given.
  ProgressFile& memory_;
  double started_;
  Sampler sampler_;
  ReportBuilder builder_;
  CampaignResults report_;
  std::vector<ScenarioMatrix> matrices_;                       ///< One per scenario
  std::vector<std::shared_ptr<const RunEstimate>> estimates_;  ///< Likewise, of their clean runs
  std::vector<Cell> site_matrix_;
  std::vector<std::pair<Cell, std::size_t>> cells_;  ///< Left to execute, and their numbers
  std::size_t cells_given_ = 0;
  std::optional<SecondLevel> second_level_;
  std::vector<Pair> pairs_;
  std::vector<std::pair<PlannedRun, std::size_t>> pairs_left_;  ///< Likewise
  std::size_t pairs_given_ = 0;
  std::vector<std::size_t> small_;  ///< Scenarios, and
  std::vector<std::size_t> big_;    ///< those that are too big for the matrix.
  std::size_t small_given_ = 0;
  std::size_t big_given_ = 0;
  bool big_is_at_work_ = false;
  AmbientRuns ambient_runs_;
  std::size_t clean_once_ = 0;  ///< Scenarios of which the second clean run was dropped
  std::size_t done_in_phase_ = 0;
  std::size_t total_of_phase_ = 0;
  CampaignPhase phase_ = CampaignPhase::clean;
};

void Campaign::begin() {
  report_.all_scenarios = options_.all_scenarios;
  report_.probe_demand = options_.probes;
  report_.seed = options_.seed;
  report_.share = options_.share;
  report_.kills_in_ambient = options_.full ? kills_in_ambient_of_all : kills_in_ambient;
  for (const Scenario* each : options_.scenarios) {
    report_.scenarios.push_back({.name = each->name,
                                 .sentence = each->sentence,
                                 .rows = each->rows,
                                 .outside_matrix = each->outside_matrix});
  }
  matrices_.resize(options_.scenarios.size());
  estimates_.resize(options_.scenarios.size());
  for (std::size_t index = 0; index < options_.scenarios.size(); ++index) {
    if (scenario(index).in_matrix()) {
      small_.push_back(index);
    } else if (options_.shard.has(index)) {
      big_.push_back(index);
    }
    for (const DeclaredParameter& each : scenario(index).parameters) {
      report_.values_to_draw += scenario(index).in_matrix() ? each.values.size() - 1 : 0;
    }
  }
  recall(memory_, builder_);
}

/// @param number  In its phase, of all shards
Job Campaign::job_of(std::size_t index,
                     CampaignPhase phase,
                     std::size_t number,
                     Plan&& made) const {
  if (phase != CampaignPhase::random) {
    made.parameters = usual_parameters(index);
  }
  return {.scenario = index,
          .phase = phase,
          .number = first_number_of(phase) + number,
          .plan = std::move(made)};
}

ParameterValues Campaign::usual_parameters(std::size_t index) const {
  return unusual(scenario(index).parameters, options_.parameters);
}

ParameterValues Campaign::draw_parameters(std::size_t index, std::size_t random_run) {
  const ParameterValues usual = usual_parameters(index);
  if (!options_.draws_parameters) {
    return usual;
  }
  std::uint64_t values = options_.seed;
  values = next_random(values) + random_run;
  ParameterValues drawn = harness::draw_parameters(
      scenario(index).parameters, options_.parameters, next_random(values));
  report_.runs_with_drawn_values += drawn == usual ? 0U : 1U;
  for (const ParameterValue& each : drawn) {
    const bool is_listed = !has_text(scenario(index).parameters, {each});  // Of those there are.
    if (is_listed && std::ranges::find(usual, each) == usual.end()) {
      report_.drawn_values.insert(fmt::format("{} {}", index, to_text(each)));
    }
  }
  return drawn;
}

Job Campaign::clean_job(std::size_t index, bool twice) const {
  Plan clean;
  clean.wants_crossings = true;
  clean.wants_estimate = true;
  clean.wants_allocations = fails_allocations();
  Job job = job_of(index, CampaignPhase::clean, index, std::move(clean));
  job.twice = twice;
  return job;
}

void Campaign::work(std::function<std::optional<Job>()> next,
                    void (Campaign::*handle)(const Done&)) {
  const JobQueue queue = {
      .next = std::move(next),
      .has_time = [this] { return has_time_to_run_again(); },
      .scenario_of = [this](std::size_t index) -> const Scenario& { return scenario(index); },
      // Shrinking takes longer than all else that is done with a violation.
      .is_new =
          [this](const Job& job, const Outcome& outcome) {
            return counts(job) && builder_.may_show(scenario(job.scenario), job, outcome);
          },
      .done =
          [this, handle](Done&& done) {
            if (counts(done.job)) {
              account(done);
            }
            if (handle != nullptr) {
              (this->*handle)(done);
            }
            ++done_in_phase_;
            say(phase_, total_of_phase_);
          },
  };
  run_jobs(worlds_.all(), queue);
}

void Campaign::account(const Done& done) {
  const PointSet before = builder_.reached();
  builder_.add(report_, scenario(done.job.scenario), done);
  remember(builder_.reached() & ~before, done.outcome.probes, memory_);
}

void Campaign::say(CampaignPhase phase, std::size_t total) {
  if (phase != phase_ || total != total_of_phase_) {
    phase_ = phase;
    total_of_phase_ = total;
    done_in_phase_ = 0;
  }
  options_.progress({.phase = phase,
                     .done = done_in_phase_,
                     .total = total,
                     .runs = report_.runs,
                     .violations = report_.violations,
                     .seconds = seconds()});
}

/// The big ones wait, because the total of the matrix does not need them.
std::optional<Job> Campaign::next_clean() {
  if (is_stopped() || small_given_ == small_.size()) {
    return std::nullopt;
  }
  const std::size_t index = small_[small_given_++];
  return clean_job(index, /*twice=*/options_.shard.has(index));
}

/// Not bounded by the budget: without it there is no total.
void Campaign::run_clean() {
  say(CampaignPhase::clean, small_.size());
  work([this] { return next_clean(); }, &Campaign::enumerate);
  plan();
}

void Campaign::enumerate(const Done& done) {
  const bool is_small = scenario(done.job.scenario).in_matrix();
  if (counts(done.job)) {
    report_.clean_runs += done.again ? 2U : 1U;
    clean_once_ += !done.job.twice && (is_small || options_.full) ? 1U : 0U;
  }
  const auto& crossings = done.outcome.crossings;
  std::set<Site> sites;
  for (const Crossing& crossing : crossings) {
    sites.insert(crossing.site);
  }
  report_.scenarios[done.job.scenario].sites = sites.size();
  if (is_small) {
    estimates_[done.job.scenario] = done.outcome.estimate;
    matrices_[done.job.scenario] = scenario_matrix_of(with_allocations(done.outcome));
  }
}

void Campaign::plan() {
  const std::vector<Cell> all = all_cells_of(matrices_);
  site_matrix_ = site_matrix_of(matrices_, options_.seed);
  report_.full_matrix = all.size();
  report_.site_matrix = site_matrix_.size();
  report_.allocation_sites = allocation_sites_of(matrices_);
  std::vector<Cell> drawn = options_.full ? all : site_matrix_;
  std::erase_if(drawn, [this](const Cell& cell) { return !is_drawn(cell); });
  for (const Cell& cell : drawn) {
    std::uint64_t& hash = report_.scenarios[cell.scenario].plan;
    hash = hash_of(to_text(fault_of(cell)), hash);
  }
  mix(drawn);
  for (std::size_t number = 0; number < drawn.size(); ++number) {
    if (options_.shard.has(number)) {
      plan(drawn[number], number);
    }
  }
  second_level_.emplace(matrices_, options_.seed);
  recall(memory_, report_.scenarios, *second_level_);
}

bool Campaign::is_drawn(const Cell& cell) const {
  const Fault& fault = fault_of(cell);
  return column_of(fault).starts_with(options_.only) &&
         (!is_allocation(fault.site) ||
          sampler_.draws(scenario(cell.scenario).name + ' ' + to_text(fault)));
}

/// Adds the cell to the list, unless an earlier campaign has executed it.
void Campaign::plan(const Cell& cell, std::size_t number) {
  ScenarioReport& mine = report_.scenarios[cell.scenario];
  const Fault& fault = fault_of(cell);
  report_.matrix.plan(fault);
  ++mine.matrix.total;
  if (memory_.has(mine.name, std::span(&fault, 1))) {
    report_.matrix.execute(fault);
    ++mine.matrix.executed;
    ++report_.resumed;
  } else {
    cells_.emplace_back(cell, number);
  }
}

/// One world at a time runs big scenarios, while the others run cells; a single world runs the big
/// ones after the cells.
std::optional<Job> Campaign::next_of_matrix() {
  if (is_over()) {
    return std::nullopt;
  }
  const bool has_cell = cells_given_ < cells_.size();
  const bool big_may = !has_cell || (worlds_.all().size() > 1 && !big_is_at_work_);
  if (big_may && big_given_ < big_.size()) {
    big_is_at_work_ = true;
    return clean_job(big_[big_given_++], options_.full);
  }
  if (!has_cell) {
    return std::nullopt;
  }
  const auto& [next, number] = cells_[cells_given_++];
  Plan made;
  made.faults = {fault_of(next)};
  // The second level is the same whether or not the first one is executed in full.
  made.wants_aftermath = std::ranges::binary_search(site_matrix_, next);
  made.wants_allocations = made.wants_aftermath && fails_allocations();
  return job_of(next.scenario, CampaignPhase::matrix, number, std::move(made));
}

void Campaign::run_matrix() {
  say(CampaignPhase::matrix, cells_.size() + big_.size() - big_given_);
  work([this] { return next_of_matrix(); }, &Campaign::execute);
  report_.matrix_runs = report_.runs - report_.clean_runs;
}

void Campaign::execute(const Done& done) {
  if (done.job.phase == CampaignPhase::clean) {
    big_is_at_work_ = false;
    enumerate(done);
    return;
  }
  const Fault& fault = done.job.plan.faults.front();
  const std::string& name = scenario(done.job.scenario).name;
  if (done.outcome.faults_fired == 0) {
    report_.missed.push_back({.scenario = name, .fault = to_text(fault)});
    return;
  }
  report_.matrix.execute(fault);
  ++report_.scenarios[done.job.scenario].matrix.executed;
  const std::vector<Crossing> drawn =
      second_level_->add(done.job.scenario, fault, with_allocations(done.outcome));
  for (const Crossing& crossing : drawn) {
    memory_.add_aftermath({.scenario = name, .first = fault, .crossing = crossing});
  }
  if (done.outcome.findings.empty()) {
    memory_.add(name, std::span(&fault, 1));
  }
}

void Campaign::run_second_level() {
  pairs_ = second_level_->pairs();
  report_.second_level_whole = pairs_.size();
  std::size_t number = 0;
  for (PlannedRun& each :
       planned_runs(sampler_.draw_of(pairs_), options_.scenarios, options_.known)) {
    const std::size_t mine = number++;
    if (!each.all_strike && !options_.shard.has(mine)) {
      continue;  // A known plan; pairs are of this shard.
    }
    plan_pair(each);
    if (memory_.has(scenario(each.scenario).name, each.faults)) {
      count_pair(each);
      ++report_.resumed;
    } else {
      pairs_left_.emplace_back(std::move(each), mine);
    }
  }
  const std::size_t runs_before = report_.runs;
  say(CampaignPhase::second_level, pairs_left_.size());
  work([this] { return next_of_second_level(); }, &Campaign::execute_pair);
  report_.second_level_runs = report_.runs - runs_before;
}

void Campaign::plan_pair(const PlannedRun& pair) {
  SecondLevelOfShard& mine = report_.second_level_of_shard;
  report_.second_level.plan(pair.faults.back());
  if (pair.all_strike) {
    mine.not_executed.insert(scenario(pair.scenario).name + ' ' + text_of(pair.faults));
  } else {
    mine.known_plans.plan(pair.faults.back());
  }
}

/// It was executed.
void Campaign::count_pair(const PlannedRun& pair) {
  SecondLevelOfShard& mine = report_.second_level_of_shard;
  report_.second_level.execute(pair.faults.back());
  if (pair.all_strike) {
    mine.not_executed.erase(scenario(pair.scenario).name + ' ' + text_of(pair.faults));
  } else {
    mine.known_plans.execute(pair.faults.back());
  }
}

std::optional<Job> Campaign::next_of_second_level() {
  if (pairs_given_ == pairs_left_.size() || is_over()) {
    return std::nullopt;
  }
  const auto& [next, number] = pairs_left_[pairs_given_++];
  Plan made;
  made.faults = next.faults;
  made.seed = next.seed;
  Job job = job_of(next.scenario, CampaignPhase::second_level, number, std::move(made));
  job.all_strike = next.all_strike;
  return job;
}

void Campaign::execute_pair(const Done& done) {
  const std::vector<Fault>& pair = done.job.plan.faults;
  const std::string& name = scenario(done.job.scenario).name;
  if (done.outcome.faults_fired >= (done.job.all_strike ? pair.size() : 1)) {
    count_pair({.scenario = done.job.scenario, .faults = pair, .all_strike = done.job.all_strike});
    if (done.outcome.findings.empty()) {
      memory_.add(name, pair);
    }
  } else {
    const auto& seed = done.job.plan.seed;
    report_.missed.push_back(
        {.scenario = name,
         .fault = text_of(pair) + (seed ? fmt::format(", in the order of seed {}", *seed) : "")});
  }
}

/// Clean runs first; the others follow from them.
void Campaign::run_ambients() {
  const std::size_t runs_before = report_.runs;
  ambient_runs_.plan(small_, sampler_);
  say(CampaignPhase::ambients, ambient_runs_.most());
  do {
    work([this] { return next_in_ambient(); }, &Campaign::play_in_ambient);
  } while (ambient_runs_.has_more() && !is_over());
  report_.ambient_runs = report_.runs - runs_before;
}

std::optional<Job> Campaign::next_in_ambient() {
  if (!ambient_runs_.has_more() || is_over()) {
    return std::nullopt;
  }
  auto [index, number, plan] = ambient_runs_.next();
  return job_of(index, CampaignPhase::ambients, number, std::move(plan));
}

void Campaign::play_in_ambient(const Done& done) {
  ambient_runs_.end(done);
}

void Campaign::run_random() {
  if (small_.empty() || is_over()) {
    return;
  }
  const std::optional<std::size_t> runs_max = most_random_runs(options_);
  say(CampaignPhase::random, runs_max.value_or(0) / options_.shard.all);
  std::size_t number = 0;
  work(
      [this, runs_max, &number]() -> std::optional<Job> {
        while (number != runs_max && !has_random_run(number) && !is_over()) {
          ++number;
        }
        if (number == runs_max || is_over()) {
          return std::nullopt;
        }
        const std::size_t index = small_[number % small_.size()];
        Plan made = random_plan(options_.seed,
                                number,
                                {.matrix = matrices_[index].faults,
                                 .pairs = pairs_of(pairs_, index),
                                 .estimate = estimates_[index]});
        made.parameters = draw_parameters(index, number);
        Job job = job_of(index, CampaignPhase::random, number, std::move(made));
        const bool twice = ++number % twice_every == 0;
        job.plan.wants_crossings = twice;
        job.twice = twice;
        return job;
      },
      &Campaign::count_random_pair);
  report_.random_runs = report_.runs - report_.matrix_runs - report_.second_level_runs -
                        report_.clean_runs - report_.ambient_runs;
}

/// The shards have the runs in turn. Each has those of all scenarios, which have turns, too.
bool Campaign::has_random_run(std::size_t number) const {
  const std::size_t scenarios = small_.size();
  const std::size_t shards = options_.shard.all;
  // After so many rounds, each scenario would be in the same shards again.
  const std::size_t rounds = shards / std::gcd(scenarios, shards);
  LASTREF_ASSERT(rounds > 0);
  return options_.shard.has(number + number / scenarios / rounds);
}

/// It is a pair if both faults were injected.
void Campaign::count_random_pair(const Done& done) {
  const std::vector<Fault>& faults = done.job.plan.faults;
  if (faults.size() != 2) {
    return;
  }
  const bool is_second_level = std::ranges::binary_search(
      pairs_,
      Pair{.scenario = done.job.scenario, .first = faults.front(), .second = faults.back()});
  Count& mine =
      is_second_level ? report_.random_pairs_of_second_level : report_.random_pairs_of_matrix;
  ++mine.total;
  mine.executed += done.outcome.faults_fired == faults.size() ? 1U : 0U;
}

void Campaign::say_what_is_left_out() {
  report_.interrupted = options_.is_interrupted();
  if (found_enough() || options_.only_ambients) {
    return;  // There are findings to report, or these runs were not requested.
  }
  const std::size_t never = small_.size() - small_given_ + big_.size() - big_given_;
  if (never > 0) {
    report_.left_out.push_back(counted(never, "scenario") + " did not run at all");
  }
  if (clean_once_ > 0) {
    report_.left_out.push_back(counted(clean_once_, "scenario") + " ran clean once, not twice");
  }
}

void Campaign::finish() {
  builder_.finish(report_);
  if (second_level_) {
    for (const auto& [moment, drawn] : second_level_->drawn()) {
      report_.second_level_of_shard.aftermaths.push_back(
          to_text(Aftermath{.scenario = scenario(drawn.scenario).name,
                            .first = drawn.first,
                            .crossing = drawn.crossing}));
    }
  }
  say_what_is_left_out();
  report_.runs_to_compare = worlds_.runs_to_compare();
  report_.seconds = seconds();
  std::ranges::sort(report_.missed, [](const Missed& one, const Missed& other) {
    return std::tie(one.scenario, one.fault) < std::tie(other.scenario, other.fault);
  });
  memory_.flush();
}

}  // namespace

CampaignResults run_campaign(std::span<World* const> worlds, const CampaignOptions& options) {
  return Campaign(worlds, options).run();
}

}  // namespace lastref::harness
