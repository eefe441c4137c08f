// Jobs: runs that wait for a world, and worlds that execute them in parallel.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/report/progress.hpp"
#include "harness/report/report.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// One run to make.
struct Job {
  std::size_t scenario = 0;  ///< index, for the maker of the job
  CampaignPhase phase = CampaignPhase::clean;
  std::size_t number = 0;  ///< Jobs are numbered as they are planned, in all shards alike.
  Plan plan;
  bool twice = false;              ///< Run it again, to compare, if there is time.
  PolicyName planned_policy = {};  ///< Remains when the plan is shrunk.
  bool all_strike = true;          ///< All its faults have to be injected; otherwise one is enough.
};

/// Of the jobs of a phase
constexpr std::size_t first_number_of(CampaignPhase phase) noexcept {
  return static_cast<std::size_t>(phase) << 32U;
}

struct Done {
  Job job;
  Outcome outcome;
  std::optional<Outcome> again;  ///< If it was to be run twice, or has findings.
  std::size_t switches = 0;      ///< Switches and pauses of its schedule, if it was shrunk
  double seconds = 0;            ///< for all of it
};

/// The interface between worlds and the maker of jobs. All are called by one thread at a time.
struct JobQueue {
  std::function<std::optional<Job>()> next;  ///< Empty: there are no more.
  /// Whether runs to be made twice are repeated now.
  std::function<bool()> has_time = [] { return true; };
  std::function<const Scenario&(std::size_t)> scenario_of;
  /// Whether a run with findings is to be shrunk.
  std::function<bool(const Job&, const Outcome&)> is_new = [](const Job&, const Outcome&) {
    return true;
  };
  std::function<void(Done&&)> done;
};

/// Works until `next` returns nothing. One thread per world.
void run_jobs(std::span<World* const> worlds, const JobQueue& queue);

/// The violation of that claim in a run. Its timeline is from the second run.
Violation violation_of(const Scenario& scenario,
                       const Done& done,
                       const Finding& finding,
                       std::string_view world);

/// The difference between two runs of one plan; empty if there is none.
std::string difference_of(const Outcome& one, const Outcome& other);

}  // namespace lastref::harness
