#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  ParallelOptions options = two_workers();
  options.batch_size = std::nullopt;
  Jobs jobs(stage, options);
  constexpr std::size_t tasks = 100'000;
  const Outcome<List> outcome = jobs.run("run", squares(tasks));
  const Status run = must_be_squares(stage, outcome);
  if (outcome && outcome->size() != tasks) {
    stage.refute("B10: each task has a result", std::to_string(outcome->size()) + " results");
  }
  return first_failure({run, jobs.end()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A hundred thousand very short tasks are sent in batches, and each has its result.",
      .rows = {"B6", "B10"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}},
      .outside_matrix = "it tests size and has too many sites",
      .is_long = true,
  };
});

}  // namespace
}  // namespace lastref::harness
