#include "harness/explore/jobs.hpp"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <lastref/probe.hpp>

#include "harness/explore/crash_note.hpp"
#include "harness/explore/plans.hpp"
#include "harness/explore/shrink.hpp"
#include "harness/explore/timeline.hpp"
#include "harness/oracle/evidence.hpp"
#include "harness/platform/clock.hpp"

namespace lastref::harness {
namespace {

void work(World& world, const JobQueue& queue, std::mutex& turn) {
  CrashNote note;
  for (;;) {
    std::optional<Job> job;
    {
      const std::lock_guard held(turn);
      job = queue.next();
    }
    if (!job) {
      return;
    }
    const Scenario& scenario = queue.scenario_of(job->scenario);
    const double started = seconds_now();
    Done done{.job = *std::move(job), .outcome = {}, .again = {}};
    note.begin(scenario.name, replay_command(scenario.name, done.job.plan, world.name()));
    done.job.planned_policy = done.job.plan.policy;
    done.outcome = world.run(scenario, done.job.plan);
    bool shrinks = !done.outcome.findings.empty();
    if (shrinks) {
      const std::lock_guard held(turn);
      shrinks = queue.is_new(done.job, done.outcome);
    }
    if (shrinks) {
      done.switches = shrink(world, scenario, done.job.plan, done.outcome);
    }
    if (done.job.twice) {
      const std::lock_guard held(turn);
      done.job.twice = queue.has_time();
    }
    if (done.job.twice || !done.outcome.findings.empty()) {
      Plan plan = done.job.plan;
      // Only there a log has the switches.
      plan.wants_log = !done.outcome.findings.empty() && world.name() == std::string_view("sim");
      done.again = world.run(scenario, plan);
    }
    note.end();
    done.seconds = seconds_now() - started;
    const std::lock_guard held(turn);
    queue.done(std::move(done));
  }
}

std::string difference_of_crossings(const std::vector<Crossing>& one,
                                    const std::vector<Crossing>& other) {
  const auto [left, right] = std::ranges::mismatch(one, other);
  if (left == one.end() && right == other.end()) {
    return {};
  }
  return fmt::format("crossing {}: {}, then {}",
                     left - one.begin() + 1,
                     left == one.end() ? "none" : to_text(*left),
                     right == other.end() ? "none" : to_text(*right));
}

std::string difference_of_probes(const ProbeSet& one, const ProbeSet& other) {
  return fmt::format("one alone saw these probes: {}; the other: {}",
                     names_of(one & ~other),
                     names_of(other & ~one));
}

}  // namespace

void run_jobs(std::span<World* const> worlds, const JobQueue& queue) {
  const CrashesAreTold told;
  std::mutex turn;
  std::vector<std::thread> workers;
  workers.reserve(worlds.size());
  for (World* const world : worlds) {
    workers.emplace_back([&, world] { work(*world, queue, turn); });
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
}

Violation violation_of(const Scenario& scenario,
                       const Done& done,
                       const Finding& finding,
                       std::string_view world) {
  Violation violation{.scenario = scenario.name,
                      .claim = finding.claim,
                      .seen = finding.seen,
                      .run = done.job.number,
                      .replay = replay_command(scenario.name, done.job.plan, world),
                      .switches = done.switches,
                      .last_crossings = done.outcome.last_crossings};
  if (done.again && done.again->log != nullptr) {
    explain(violation, timeline_of(*done.again->log, done.again->findings));
  }
  return violation;
}

std::string difference_of(const Outcome& one, const Outcome& other) {
  if (std::string seen = difference_of_crossings(one.crossings, other.crossings); !seen.empty()) {
    return seen;
  }
  if (one.findings != other.findings) {
    const auto first = [](const Outcome& outcome) {
      return outcome.findings.empty() ? std::string("nothing") : outcome.findings.front().claim;
    };
    return fmt::format("findings: {} ({}), then {} ({})",
                       one.findings.size(),
                       first(one),
                       other.findings.size(),
                       first(other));
  }
  if (one.choices != other.choices || one.options != other.options) {
    return fmt::format(
        "{} questions were asked, then {}, or others", one.choices.size(), other.choices.size());
  }
  if (one.standard_error != other.standard_error) {
    return "standard error differs";
  }
  if (one.probes != other.probes) {
    return difference_of_probes(one.probes, other.probes);
  }
  const auto [left, right] = std::ranges::mismatch(one.looks, other.looks);
  if (left != one.looks.end() && right != other.looks.end()) {
    return fmt::format("{} looked at {} things, {} of them filled, then at {}, {} of them filled",
                       oracle_names()[static_cast<std::size_t>(left - one.looks.begin())],
                       left->seen,
                       left->filled,
                       right->seen,
                       right->filled);
  }
  return {};
}

}  // namespace lastref::harness
