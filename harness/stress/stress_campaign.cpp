#include "harness/stress/stress_campaign.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <ostream>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "harness/platform/names.hpp"
#include "harness/scenario/pattern.hpp"

namespace lastref::harness {
namespace {

using std::chrono::microseconds;

/// By the number of a run among those of its scenario.
constexpr std::array<unsigned, 4> kills_in_turn = {0, 1, 1, 2};
constexpr std::uint64_t runs_between_lines = 100;

}  // namespace

struct StressCampaign::Shared {
  std::mutex lock;  ///< protects all that follows
  std::uint64_t next = 0;
  std::uint64_t under_way = 0;
  bool is_over = false;
  StressResults report;
  std::map<std::string, microseconds> took;  ///< in runs without kills
  std::ostream& progress;
};

StressCampaign::StressCampaign(StressCampaignOptions options) : options_(std::move(options)) {
  for (const Scenario& each : *options_.scenarios) {
    const bool is_meant = options_.pattern.empty() ? each.in_gate && each.in_matrix()
                                                   : matches(options_.pattern, each.name);
    if (is_meant && has_all(each.parameters, options_.parameters)) {
      scenarios_.push_back(&each);
    }
  }
  for (unsigned i = 0; i < std::max(options_.worlds, 1U); ++i) {
    worlds_.push_back(std::make_unique<KernelWorld>(
        KernelOptions{.scenarios = options_.scenarios, .is_gated = false}));
  }
}

StressResults StressCampaign::run(std::ostream& progress) {
  Shared shared{.lock = {}, .report = {}, .took = {}, .progress = progress};
  std::vector<std::jthread> threads;
  for (const auto& world : worlds_) {
    threads.emplace_back([&] { work(shared, *world); });
  }
  threads.clear();
  shared.report.scenarios = scenarios_.size() - shared.report.left_out.size();
  return std::move(shared.report);
}

void StressCampaign::work(Shared& shared, KernelWorld& world) {
  for (;;) {
    std::uint64_t number = 0;
    {
      const std::scoped_lock held(shared.lock);
      if (shared.is_over || shared.report.runs + shared.under_way >= options_.runs ||
          shared.report.left_out.size() == scenarios_.size()) {
        return;
      }
      number = shared.next++;
      ++shared.under_way;
    }
    try_one(shared, world, number);
  }
}

void StressCampaign::try_one(Shared& shared, KernelWorld& world, std::uint64_t number) {
  const Scenario& scenario = *scenarios_[number % scenarios_.size()];
  const std::uint64_t seed = options_.seed + number;
  Plan plan;
  plan.seed = seed;
  plan.parameters = options_.draws_parameters
                        ? draw_parameters(scenario.parameters, options_.parameters, seed)
                        : unusual(scenario.parameters, options_.parameters);
  RandomEvents events;
  events.noise = options_.noise ? 2 * seed + 1 : 0;
  {
    const std::scoped_lock held(shared.lock);
    if (shared.report.left_out.contains(scenario.name)) {
      --shared.under_way;
      return;
    }
    if (const auto known = shared.took.find(scenario.name); known != shared.took.end()) {
      events.span = known->second;
      // A scenario outside the matrix does not state what a kill may leave.
      events.kills = scenario.in_matrix()
                         ? kills_in_turn[number / scenarios_.size() % kills_in_turn.size()]
                         : 0;
    }
  }
  const UngatedOutcome outcome = world.run_ungated(scenario, plan, events);
  const std::scoped_lock held(shared.lock);
  --shared.under_way;
  StressResults& report = shared.report;
  if (!outcome.needs_gate.empty()) {
    report.left_out[scenario.name] = outcome.needs_gate;
    return;
  }
  if (events.kills == 0) {
    shared.took[scenario.name] = outcome.took;
  }
  if (!scenario.in_matrix()) {
    report.without_kills[scenario.name] = scenario.outside_matrix;
  }
  ++report.runs;
  report.runs_with_kills += outcome.killed.empty() ? 0U : 1U;
  report.killed += outcome.killed.size();
  for (const Finding& finding : outcome.findings) {
    report.violations.push_back({.scenario = scenario.name,
                                 .seed = seed,
                                 .finding = finding,
                                 .killed = outcome.killed,
                                 .standard_error = outcome.standard_error,
                                 .parameters = plan.parameters});
    shared.is_over = shared.is_over || options_.first;
    shared.progress << fmt::format("{}: {}: {}\n", scenario.name, finding.claim, finding.seen);
  }
  if (report.runs % runs_between_lines == 0) {
    shared.progress << fmt::format("{} of {} runs, {}\n",
                                   report.runs,
                                   options_.runs,
                                   counted(report.violations.size(), "violation"));
  }
}

}  // namespace lastref::harness
