#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const std::uint32_t count = stage.value(element_count);
  const std::vector<Array> arrays = {numbered(1, count), numbered(2, count)};
  LASTREF_CHECK(stage.product().lead());
  ParallelOptions options = two_workers();
  options.n_jobs = stage.value(job_count);
  options.backend = backend_of(stage.value(worker_kind));
  Jobs jobs(stage, options);
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
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}, {"worker_3", work}},
      .parameters = {element_count, job_count, worker_kind},
  };
});

}  // namespace
}  // namespace lastref::harness
