// stage_allocations_test: which allocations of a role fail, in both worlds.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/array.hpp>

#include "property_tests/harness/scenario/stage_worlds.hpp"

namespace lastref::harness {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Status make_array() {
  LASTREF_TRY(dtype, DType::parse("<i4"));
  LASTREF_TRY(array, Array::zeros(dtype, {3, 4}));
  return array.size() == 12 ? ok() : failure(std::errc::io_error, "an array");
}

Status root_of_operation(Stage& stage) {
  const Status made = stage.product().operation("make", make_array);
  if (!made && made.error().code != std::errc::not_enough_memory) {
    stage.refute("toy: another error", describe(made.error()));
  }
  return made;
}

Status root_of_bookkeeping(Stage& stage) {
  LASTREF_CHECK(make_array());
  return stage.product().operation("look", [&] {
    const auto status = stage.os().status_at(stage.folder() + "/nothing of that name");
    return failed_with(status, std::errc::no_such_file_or_directory) ? ok() : status_of(status);
  });
}

Status root_of_thread(Stage& stage) {
  Status made = ok();
  return stage.product().operation("run", [&]() -> Status {
    LASTREF_TRY(thread, stage.os().start_thread([&] { made = make_array(); }));
    thread->join();
    return made;
  });
}

Status root_of_value(Stage& stage) {
  return stage.product().operation("make", [] {
    const DType dtype = DType::parse("<i4").value();
    return status_of(Array::zeros(dtype, {3, 4}));
  });
}

const std::vector<Scenario>& toys_that_allocate() {
  static const std::vector<Scenario> all = {
      toy("operation", {{"root", root_of_operation}}),
      toy("bookkeeping", {{"root", root_of_bookkeeping}}),
      toy("thread", {{"root", root_of_thread}}),
      toy("value", {{"root", root_of_value}}),
  };
  return all;
}

class StageAllocations : public StageWorlds {
 protected:
  StageAllocations() : StageWorlds(toys_that_allocate()) {}

  std::vector<Crossing> allocations_of(std::string_view name) {
    Plan clean;
    clean.wants_crossings = clean.wants_allocations = true;
    const Outcome outcome = run(name, clean);
    EXPECT_THAT(outcome.findings, IsEmpty());
    return outcome.allocations;
  }

  /// Each of them fails, and the process does not die of that.
  void fail_each(std::string_view name) {
    const auto allocations = allocations_of(name);
    EXPECT_THAT(allocations, Not(IsEmpty()));
    for (const Crossing& each : allocations) {
      Plan plan;
      plan.faults = {{.site = each.site, .kind = FaultKind::fail_once, .error = ENOMEM}};
      const Outcome outcome = run(name, plan);
      EXPECT_EQ(outcome.faults_fired, 1U) << to_text(plan.faults.front());
      EXPECT_THAT(outcome.findings, IsEmpty()) << to_text(plan.faults.front());
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Worlds, StageAllocations, testing::ValuesIn(both_worlds()), name_of_row);

TEST_P(StageAllocations, of_an_operation_fail) {
  fail_each("operation");
}

TEST_P(StageAllocations, of_a_thread_that_an_operation_starts_fail) {
  fail_each("thread");
}

TEST_P(StageAllocations, of_the_scenario_and_below_the_calls_of_the_kernel_do_not_fail) {
  EXPECT_THAT(allocations_of("bookkeeping"), IsEmpty());
}

TEST_P(StageAllocations, that_fail_where_a_value_is_expected_end_the_operation_with_the_error) {
  fail_each("value");
}

}  // namespace
}  // namespace lastref::harness
