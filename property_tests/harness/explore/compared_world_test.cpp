// compared_world_test: the results of runs with benign faults are compared with those of clean
// runs, which are learned once.
#include "harness/explore/compared_world.hpp"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/harness/explore/fake_world.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref::harness {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t clean_runs = 16;

Plan with_benign_fault() {
  Plan plan;
  plan.faults = {{.site = crossing_of("read").site, .kind = FaultKind::fail_once, .error = EINTR}};
  return plan;
}

Outcome with_result(const std::string& value) {
  Outcome outcome;
  outcome.looks.resize(oracle_names().size());
  outcome.results = RunResults{{"root asks#1", value}};
  return outcome;
}

class Compared : public testing::Test {
 protected:
  /// The outcome in a world in which runs with faults have the result `value`.
  Outcome run(FakeWorld& world) { return ComparedWorld(world, clean_).run(scenario_, plan_); }
  static FakeWorld world_that_comes_to(const std::string& value) {
    return FakeWorld([value](const Scenario&, const Plan& plan) {
      return with_result(plan.wants_results ? "clean" : value);
    });
  }

  const Scenario scenario_ = named("family/one");
  Plan plan_ = with_benign_fault();
  CleanResults clean_;
};

TEST_F(Compared, what_clean_runs_come_to_is_no_finding) {
  FakeWorld world = world_that_comes_to("clean");
  const Outcome outcome = run(world);
  EXPECT_THAT(outcome.findings, IsEmpty());
  EXPECT_EQ(outcome.looks[index_of_oracle("same")], (Look{.seen = 1, .filled = 1}));
  EXPECT_EQ(clean_.runs(), 1U);
}

TEST_F(Compared, another_order_is_run_only_if_those_before_came_to_something_else) {
  FakeWorld world([](const Scenario&, const Plan& plan) {
    const bool is_third = plan.seed == 2U;
    return with_result(is_third || !plan.wants_results ? "rare" : "clean");
  });
  EXPECT_THAT(run(world).findings, IsEmpty());
  EXPECT_EQ(clean_.runs(), 3U);
  EXPECT_THAT(run(world).findings, IsEmpty());
  EXPECT_EQ(clean_.runs(), 3U);
}

TEST_F(Compared, another_result_is_a_finding_when_no_order_comes_to_it) {
  FakeWorld world = world_that_comes_to("other");
  const Outcome outcome = run(world);
  ASSERT_THAT(outcome.findings, SizeIs(1));
  EXPECT_EQ(clean_.runs(), clean_runs + 1);  // and one for points to pause at
  EXPECT_THAT(outcome.findings[0].seen, HasSubstr("\"other\""));
  EXPECT_THAT(outcome.findings[0].seen, HasSubstr("\"clean\""));
  pretend::expect_transcript(outcome.findings[0].seen);
}

TEST_F(Compared, more_orders_are_tried_before_it_is_one) {
  FakeWorld world([](const Scenario&, const Plan& plan) {
    Outcome outcome = with_result(plan.faults.empty() ? "clean" : "late");
    outcome.crossings = {crossing_of("read"), crossing_of("write")};
    return outcome;
  });
  EXPECT_THAT(run(world).findings, IsEmpty());
  const std::size_t more = 1 + 1;  // For the crossings, and a pause at the first.
  EXPECT_EQ(clean_.runs(), clean_runs + more);
}

TEST_F(Compared, worlds_learn_once_for_all) {
  FakeWorld one = world_that_comes_to("clean");
  FakeWorld other = world_that_comes_to("clean");
  run(one);
  run(other);
  EXPECT_THAT(one.plans, SizeIs(1 + 1));
  EXPECT_THAT(other.plans, SizeIs(1));
}

TEST_F(Compared, runs_that_say_no_results_are_as_they_were) {
  FakeWorld world([](const Scenario&, const Plan& plan) { return clean_outcome(plan, {}); });
  EXPECT_THAT(run(world).findings, IsEmpty());
  EXPECT_EQ(clean_.runs(), 0U);
}

}  // namespace
}  // namespace lastref::harness
