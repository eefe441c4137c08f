#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const std::vector<Array> arrays = {numbered(1), numbered(2)};
  LASTREF_CHECK(stage.product().lead());
  Jobs jobs(stage);
  const Status kept =
      must_be_sums(stage, jobs.run("keep", {{"keep", {arrays[0]}}, {"keep", {arrays[1]}}}), arrays);
  // A separate call, with files of its own.
  const Status more = must_be_sums(stage, jobs.run("keep more", {{"keep", {arrays[0]}}}), arrays);
  return first_failure({kept, more, jobs.end()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Tasks keep their arrays after their call. The files exist until the workers exit, and "
          "no longer.",
      .rows = {"B10", "R7", "T9"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}},
  };
});

}  // namespace
}  // namespace lastref::harness
