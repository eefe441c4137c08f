#include "harness/explore/campaign.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "harness/choice/choices.hpp"
#include "harness/explore/jobs.hpp"
#include "harness/explore/matrix.hpp"
#include "harness/explore/plans.hpp"
#include "harness/explore/tally.hpp"

namespace lastref::harness {
namespace {

/// Of the random runs every so many is run twice, and has to be the same.
constexpr std::size_t twice_every = 64;

/// A cell of the matrix, of all scenarios together.
struct Cell {
  std::size_t scenario = 0;
  const Fault* fault = nullptr;
};

/// An order in which a budget that ends early has looked everywhere a little; always the same one.
void mix(std::vector<Cell>& cells) {
  std::uint64_t chance = cells.size();
  for (std::size_t left = cells.size(); left > 1; --left) {
    std::swap(cells[left - 1], cells[next_random(chance) % left]);
  }
}

class Campaign {
 public:
  Campaign(std::span<World* const> worlds, const CampaignOptions& options)
      : worlds_(worlds), options_(options), started_(now()), tally_(worlds.front()->name()) {}

  Report run() {
    begin();
    run_clean();
    run_matrix();
    run_random();
    finish();
    return std::move(report_);
  }

 private:
  double now() const { return options_.clock ? options_.clock() : seconds_now(); }
  double seconds() const { return now() - started_; }
  bool found_enough() const {
    return options_.stop_at_first && (report_.violations > 0 || !report_.differences.empty());
  }
  bool is_over() const { return found_enough() || seconds() >= options_.budget; }
  const Scenario& scenario(std::size_t index) const { return *options_.scenarios[index]; }

  void begin();
  void run_clean();
  void run_matrix();
  void run_random();
  void finish();

  void enumerate(const Done& done);
  void plan(std::size_t index);
  void execute(const Done& done);
  void work(std::function<std::optional<Job>()> next, void (Campaign::*handle)(const Done&));
  void account(const Done& done);
  void say(Stretch stretch, std::size_t total);
  Job job_of(std::size_t index, Purpose purpose, Plan&& made);

  std::span<World* const> worlds_;
  const CampaignOptions& options_;
  double started_;
  Tally tally_;
  Report report_;
  std::vector<std::vector<Fault>> matrices_;  ///< One a scenario
  std::vector<Cell> cells_;                   ///< What is left to execute
  std::vector<std::size_t> by_size_;  ///< Scenarios; those too big for the matrix run first, and
  std::vector<std::size_t>::iterator smaller_;  ///< up to here, and only clean.
  std::size_t jobs_made_ = 0;
  std::size_t done_in_stretch_ = 0;
  std::size_t total_of_stretch_ = 0;
  Stretch stretch_ = Stretch::clean;
};

void Campaign::begin() {
  report_.all_scenarios = options_.all_scenarios;
  report_.seed = options_.seed;
  for (const Scenario* each : options_.scenarios) {
    report_.scenarios.push_back(
        {.name = each->name, .sentence = each->sentence, .rows = each->rows});
  }
  matrices_.resize(options_.scenarios.size());
  by_size_.resize(options_.scenarios.size());
  std::iota(by_size_.begin(), by_size_.end(), 0);
  smaller_ = std::stable_partition(by_size_.begin(), by_size_.end(), [this](std::size_t index) {
    return !scenario(index).in_matrix;
  });
  if (options_.memory != nullptr) {
    for (const std::string& place : options_.memory->places()) {
      if (const std::size_t point = point_named(place); point < points_max) {
        tally_.reach(point);
      }
    }
  }
}

Job Campaign::job_of(std::size_t index, Purpose purpose, Plan&& made) {
  return {.scenario = index, .purpose = purpose, .number = jobs_made_++, .plan = std::move(made)};
}

void Campaign::work(std::function<std::optional<Job>()> next,
                    void (Campaign::*handle)(const Done&)) {
  const JobQueue queue = {
      .next = std::move(next),
      .scenario_of = [this](std::size_t index) -> const Scenario& { return scenario(index); },
      .done =
          [this, handle](Done&& done) {
            account(done);
            if (handle != nullptr) {
              (this->*handle)(done);
            }
            ++done_in_stretch_;
            say(stretch_, total_of_stretch_);
          },
  };
  run_jobs(worlds_, queue);
}

void Campaign::account(const Done& done) {
  const PointSet before = tally_.reached();
  tally_.add(report_, scenario(done.job.scenario), done);
  const PointSet fresh = tally_.reached() & ~before;
  if (options_.memory == nullptr || fresh.none()) {
    return;
  }
  for (std::size_t point = 0; point < number_of_points(); ++point) {
    if (fresh.test(point)) {
      options_.memory->add_place(place_of(point));
    }
  }
}

void Campaign::say(Stretch stretch, std::size_t total) {
  if (stretch != stretch_ || total != total_of_stretch_) {
    stretch_ = stretch;
    total_of_stretch_ = total;
    done_in_stretch_ = 0;
  }
  options_.progress({.stretch = stretch,
                     .done = done_in_stretch_,
                     .total = total,
                     .runs = report_.runs,
                     .violations = report_.violations,
                     .seconds = seconds()});
}

/// Not bounded by the budget: without it there is no total.
void Campaign::run_clean() {
  say(Stretch::clean, options_.scenarios.size());
  auto next = by_size_.begin();
  work(
      [this, &next]() -> std::optional<Job> {
        if (next == by_size_.end() || found_enough()) {
          return std::nullopt;
        }
        Plan clean;
        clean.wants_crossings = true;
        Job job = job_of(*next++, Purpose::clean, std::move(clean));
        job.twice = true;
        return job;
      },
      &Campaign::enumerate);
  report_.clean_runs = report_.runs;
  for (std::size_t index = 0; index < matrices_.size(); ++index) {
    plan(index);
  }
  mix(cells_);
}

void Campaign::enumerate(const Done& done) {
  const auto& crossings = done.outcome.crossings;
  std::set<Point> points;
  for (const Crossing& crossing : crossings) {
    points.insert(crossing.point);
  }
  report_.scenarios[done.job.scenario].points = points.size();
  if (scenario(done.job.scenario).in_matrix) {
    matrices_[done.job.scenario] = matrix_of(crossings);
  }
}

/// Puts what was not executed by an earlier campaign on the list.
void Campaign::plan(std::size_t index) {
  ScenarioReport& mine = report_.scenarios[index];
  for (const Fault& fault : matrices_[index]) {
    report_.matrix.plan(fault);
    ++mine.matrix.total;
    if (options_.memory != nullptr && options_.memory->has(mine.name, fault)) {
      report_.matrix.execute(fault);
      ++mine.matrix.executed;
      ++report_.resumed;
    } else {
      cells_.push_back({.scenario = index, .fault = &fault});
    }
  }
}

void Campaign::run_matrix() {
  say(Stretch::matrix, cells_.size());
  auto cell = cells_.begin();
  work(
      [this, &cell]() -> std::optional<Job> {
        if (cell == cells_.end() || is_over()) {
          return std::nullopt;
        }
        const Cell& next = *cell++;
        Plan made;
        made.faults = {*next.fault};
        return job_of(next.scenario, Purpose::matrix, std::move(made));
      },
      &Campaign::execute);
  report_.matrix_runs = report_.runs - report_.clean_runs;
}

void Campaign::execute(const Done& done) {
  const Fault& fault = done.job.plan.faults.front();
  const std::string& name = scenario(done.job.scenario).name;
  if (done.outcome.faults_fired == 0) {
    report_.missed.push_back({.scenario = name, .fault = to_text(fault)});
    return;
  }
  report_.matrix.execute(fault);
  ++report_.scenarios[done.job.scenario].matrix.executed;
  if (options_.memory != nullptr && done.outcome.findings.empty()) {
    options_.memory->add(name, fault);
  }
}

void Campaign::run_random() {
  const std::span<const std::size_t> small(smaller_, by_size_.end());
  if (small.empty() || is_over()) {
    return;
  }
  say(Stretch::random, options_.random_runs_max.value_or(0));
  std::size_t number = 0;
  work(
      [this, small, &number]() -> std::optional<Job> {
        if (number == options_.random_runs_max || is_over()) {
          return std::nullopt;
        }
        const std::size_t index = small[number % small.size()];
        Plan made = random_plan(options_.seed, number, matrices_[index]);
        const bool twice = ++number % twice_every == 0;
        made.wants_crossings = twice;
        Job job = job_of(index, Purpose::random, std::move(made));
        job.twice = twice;
        return job;
      },
      nullptr);
  report_.random_runs = report_.runs - report_.matrix_runs - report_.clean_runs;
}

void Campaign::finish() {
  tally_.finish(report_);
  report_.seconds = seconds();
  std::ranges::sort(report_.missed, [](const Missed& one, const Missed& other) {
    return std::tie(one.scenario, one.fault) < std::tie(other.scenario, other.fault);
  });
  if (options_.memory != nullptr) {
    options_.memory->flush();
  }
}

}  // namespace

Report run_campaign(std::span<World* const> worlds, const CampaignOptions& options) {
  return Campaign(worlds, options).run();
}

}  // namespace lastref::harness
