#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const std::uint32_t count = stage.value(element_count);
  const std::vector<Array> arrays = {numbered(1, count), numbered(2, count)};
  LASTREF_CHECK(stage.product().lead());
  const auto run = [&](const char* operation) {
    ParallelOptions options = two_workers();
    options.backend = backend_of(stage.value(worker_kind));
    Jobs jobs(stage, options);
    const Status sums = must_be_sums(stage, jobs.run(operation, sums_of(arrays, 2)), arrays);
    return first_failure({sums, jobs.end()});
  };
  Status there;
  const auto other = stage.os().start_thread([&] { there = run("run there"); });
  const Status here = run("run here");
  if (other) {
    (*other)->join();
  }
  return first_failure({status_of(other), there, here});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Two threads each have a Parallel object with workers of its own. Neither sees the "
          "other's workers.",
      .rows = {"B5", "B10", "E13"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}},
      .parameters = {element_count, worker_kind},
  };
});

}  // namespace
}  // namespace lastref::harness
