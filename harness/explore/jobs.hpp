// Jobs: runs waiting for a world, and worlds working through them side by side.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "harness/report/progress.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// One run to make.
struct Job {
  std::size_t scenario = 0;  ///< index, for whoever made the job
  CampaignPhase phase = CampaignPhase::clean;
  std::size_t number = 0;  ///< Jobs are numbered as they are made.
  Plan plan;
  bool twice = false;      ///< Run it again, to compare, if there is time.
  bool all_strike = true;  ///< Else it is enough that one of its faults does.
};

struct Done {
  Job job;
  Outcome outcome;
  std::optional<Outcome> again;  ///< If it was to be run twice, or found something.
  double seconds = 0;            ///< for all of it
};

/// What the worlds are given, and give back. All are called by one thread at a time.
struct JobQueue {
  std::function<std::optional<Job>()> next;  ///< Nothing: there is no more.
  /// Whether what is to be run twice is run again now.
  std::function<bool()> has_time = [] { return true; };
  std::function<const Scenario&(std::size_t)> scenario_of;
  std::function<void(Done&&)> done;
};

/// Works until `next` gives nothing. One thread a world.
void run_jobs(std::span<World* const> worlds, const JobQueue& queue);

/// A clock that really goes: seconds since some moment.
double seconds_now();

/// Why two runs of one plan are not the same; empty if they are.
std::string difference_of(const Outcome& one, const Outcome& other);

}  // namespace lastref::harness
