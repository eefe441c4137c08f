#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const std::uint32_t count = stage.value(element_count);
  const std::vector<Array> arrays = {numbered(1, count), numbered(2, count)};
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(stage.start("killer"));
  ParallelOptions options = two_workers();
  options.n_jobs = stage.value(job_count);
  Jobs jobs(stage, options);
  const Status run = must_be_sums(stage, jobs.run("run", sums_of(arrays, 2)), arrays);
  stage.tell("once more");
  const Status again = must_be_sums(stage, jobs.run("run again", sums_of(arrays, 2)), arrays);
  return first_failure({run, again, jobs.end()});
}

Status killer(Stage& stage) {
  if (stage.await("once more")) {
    stage.kill("tracker");
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence = "The tracker is killed between or during two calls. Both calls succeed.",
      .rows = {"B10", "T6"},
      .roles = {{"root", root},
                {"worker_1", work},
                {"worker_2", work},
                {"worker_3", work},
                {"killer", killer}},
      .parameters = {element_count, job_count},
      .possible_noise = {"the tracker was killed by signal 9; starting another"},
  };
});

}  // namespace
}  // namespace lastref::harness
