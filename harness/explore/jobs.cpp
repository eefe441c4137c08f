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
#include "harness/oracle/evidence.hpp"
#include "harness/platform/clock.hpp"

namespace lastref::harness {
namespace {

/// Whether it has a finding for each claim of the other.
bool claims_all(const Outcome& outcome, const Outcome& other) {
  return std::ranges::all_of(other.findings, [&](const Finding& finding) {
    return std::ranges::find(outcome.findings, finding.claim, &Finding::claim) !=
           outcome.findings.end();
  });
}

/// Replaces the run by one of the plan `tried` if that violates the same claims. Returns whether it
/// does.
bool replace_if_same(World& world, const Scenario& scenario, Done& done, Plan tried) {
  Outcome outcome = world.run(scenario, tried);
  const bool is_same = claims_all(outcome, done.outcome);
  if (is_same) {
    done.job.plan = std::move(tried);
    done.outcome = std::move(outcome);
  }
  return is_same;
}

/// The number of runs in which a schedule is shrunk.
constexpr int tries_to_shrink = 500;

/// Replaces a random schedule by one with as few switches as can be found that violates the same
/// claims: first large parts of it are left out, then small ones, until no single switch can be.
void shrink_schedule(World& world, const Scenario& scenario, Done& done) {
  Plan& plan = done.job.plan;
  if (!plan.seed || done.outcome.switches.empty()) {
    return;
  }
  int tries = 0;
  const auto try_with = [&](Plan tried) {
    ++tries;
    return replace_if_same(world, scenario, done, std::move(tried));
  };
  Plan switched = plan;
  switched.seed = std::nullopt;
  switched.policy = PolicyName::sticky;
  switched.estimate = nullptr;
  switched.switches = done.outcome.switches;
  if (!try_with(switched)) {
    return;
  }
  for (std::size_t part = plan.switches.size(); part > 0 && tries < tries_to_shrink;) {
    const std::size_t before = plan.switches.size();
    for (std::size_t at = 0; at < plan.switches.size() && tries < tries_to_shrink;) {
      Plan shorter = plan;
      const auto first = shorter.switches.begin() + static_cast<std::ptrdiff_t>(at);
      const auto size = std::min(part, shorter.switches.size() - at);
      shorter.switches.erase(first, first + static_cast<std::ptrdiff_t>(size));
      if (!try_with(std::move(shorter))) {
        at += part;
      }
    }
    const bool is_again = part == 1 && plan.switches.size() < before;
    part = is_again ? 1 : part / 2;
  }
  // As a list of answers, which each world accepts.
  Plan listed = plan;
  listed.choices = done.outcome.choices;
  listed.switches.clear();
  try_with(std::move(listed));
}

/// Replaces the run by one with more usual values of parameters that violates the same claims, if
/// there is one. All usual values are tried first, then one after the other.
void shrink_parameters(World& world, const Scenario& scenario, Done& done) {
  Plan& plan = done.job.plan;
  const auto try_with = [&](ParameterValues parameters) {
    Plan shrunk = plan;
    shrunk.parameters = std::move(parameters);
    return replace_if_same(world, scenario, done, std::move(shrunk));
  };
  const ParameterValues all = plan.parameters;
  if (all.empty() || try_with({}) || all.size() == 1) {
    return;
  }
  for (const ParameterValue& each : all) {
    ParameterValues others = plan.parameters;
    std::erase(others, each);
    try_with(std::move(others));
  }
}

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
      shrink_parameters(world, scenario, done);
      shrink_schedule(world, scenario, done);
    }
    if (done.job.twice) {
      const std::lock_guard held(turn);
      done.job.twice = queue.has_time();
    }
    if (done.job.twice || !done.outcome.findings.empty()) {
      done.again = world.run(scenario, done.job.plan);
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
