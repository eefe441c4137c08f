// Allocations of the product that fail, and what a simulated process does with an exception.
#include <algorithm>
#include <cerrno>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/explore/matrix.hpp"
#include "harness/instrument/callers.hpp"
#include "harness/kernel/kernel_world.hpp"
#include "harness/sim/sim_world.hpp"

namespace lastref::harness {
namespace {

using testing::Contains;
using testing::Field;
using testing::IsEmpty;
using testing::StartsWith;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
Plan noting_allocations() {
  Plan plan;
  plan.wants_allocations = true;
  return plan;
}

TEST(Allocations, are_those_of_the_product_in_each_process_and_the_same_in_each_run) {
  SimWorld world;
  const std::vector<Crossing> first =
      world.run(*scenario_named("tracker/two_holders_release_at_once"), noting_allocations())
          .allocations;
  EXPECT_EQ(world.run(*scenario_named("tracker/two_holders_release_at_once"), noting_allocations())
                .allocations,
            first);
  std::set<std::string> roles;
  for (const Crossing& allocation : first) {
    EXPECT_NE(allocation.callers, 0U) << to_text(allocation.site);
    EXPECT_TRUE(is_allocation(allocation.site)) << to_text(allocation.site);
    roles.insert(allocation.site.role);
  }
  EXPECT_EQ(roles, (std::set<std::string>{"client_a", "client_b", "root", "tracker"}));
}

TEST(Allocations, fail_where_the_matrix_plans_it) {
  SimWorld world;
  const std::vector<Fault> faults = matrix_of(
      world.run(*scenario_named("tracker/two_holders_release_at_once"), noting_allocations())
          .allocations);
  EXPECT_GT(faults.size(), 100U);
  for (const Fault& fault : faults) {
    Plan plan;
    plan.faults = {fault};
    EXPECT_EQ(world.run(*scenario_named("tracker/two_holders_release_at_once"), plan).faults_fired,
              1U)
        << to_text(fault);
  }
}

TEST(Allocations, of_real_processes_fail_where_the_matrix_plans_it) {
  KernelWorld world({.scenarios = &catalog()});
  const std::vector<Fault> faults = matrix_of(
      world.run(*scenario_named("tracker/two_holders_release_at_once"), noting_allocations())
          .allocations);
  EXPECT_GT(faults.size(), 100U);
  for (std::size_t at = 0; at < faults.size(); at += 10) {
    Plan plan;
    plan.faults = {faults[at]};
    EXPECT_EQ(world.run(*scenario_named("tracker/two_holders_release_at_once"), plan).faults_fired,
              1U)
        << to_text(faults[at]);
  }
}
#endif

Status throw_one(Stage& stage) {
  stage.tell("one runs");
  throw std::runtime_error("uncaught");
}

TEST(SimProcess, that_does_not_catch_an_exception_crashes_alone) {
  const Scenario scenario = {.name = "toy/uncaught",
                             .sentence = "An uncaught exception ends one process.",
                             .rows = {},
                             .roles = {{"root",
                                        [](Stage& stage) -> Status {
                                          LASTREF_CHECK(stage.start("one"));
                                          stage.await("one runs");
                                          return ok();
                                        }},
                                       {"one", throw_one}}};
  SimWorld world;
  const Outcome outcome = world.run(scenario, {});
  ASSERT_EQ(outcome.findings.size(), 1U);
  EXPECT_THAT(outcome.findings, Contains(Field(&Finding::claim, StartsWith("no-crash"))));
  EXPECT_EQ(outcome.findings.front().seen, "one died of SIGABRT");
  EXPECT_THAT(world.run(*scenario_named("tracker/two_holders_release_at_once"), {}).findings,
              IsEmpty());
}

/// Catches its own number, sends `own`, waits for `next`, and throws it again.
Body catching(int number, const std::string& own, const std::string& next) {
  return [=](Stage& stage) -> Status {
    int caught = 0;
    try {
      try {
        throw number;
      } catch (int) {
        stage.tell(own);
        stage.await(next);
        throw;
      }
    } catch (int again) {
      caught = again;
    }
    if (caught != number) {
      stage.refute("toy: an exception is its thread's", std::to_string(caught));
    }
    stage.tell(own + " is done");
    return ok();
  };
}

TEST(SimProcess, keeps_its_exceptions_apart_from_those_of_others) {
  const Scenario scenario = {
      .name = "toy/handlers",
      .sentence = "Each process rethrows what it has caught.",
      .rows = {},
      .roles = {{"root",
                 [](Stage& stage) -> Status {
                   LASTREF_CHECK(stage.start("one"));
                   LASTREF_CHECK(stage.start("other"));
                   stage.await("one catches is done");
                   stage.await("other catches is done");
                   return ok();
                 }},
                {"one", catching(1, "one catches", "other catches")},
                {"other", catching(2, "other catches", "one catches is done")}}};
  SimWorld world;
  EXPECT_THAT(world.run(scenario, {}).findings, IsEmpty());
}

}  // namespace
}  // namespace lastref::harness
