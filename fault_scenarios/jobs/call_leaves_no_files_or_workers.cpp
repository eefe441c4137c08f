#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const Array array = numbered(1, stage.value(element_count));
  LASTREF_CHECK(stage.product().lead());
  ParallelOptions options = two_workers();
  options.n_jobs = stage.value(job_count);
  options.temporary.root = stage.folder();
  Jobs jobs(stage, options);
  const Status run = must_be_sums(stage, jobs.run("run", sums_of({array}, 2)), {array});
  stage.wait_for_quiet();  // The tracker removes them.
  if (stage.is_undisturbed() && folders_of_arrays(stage) > 0) {
    stage.refute("B10: a call leaves no files", "a folder of arrays");
  }
  static_cast<void>(jobs.run("fail", {{"throw"}, {"square", {1}}}));  // It fails, as it should.
  const std::size_t workers =
      stage.processes("worker_1") + stage.processes("worker_2") + stage.processes("worker_3");
  if (stage.is_undisturbed() && workers > 0) {
    stage.refute("B10: a call that failed leaves no workers", std::to_string(workers));
  }
  return first_failure({run, jobs.end()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A successful call leaves no files, and a failed one no workers, while the object that "
          "made them still exists.",
      .rows = {"B10"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}, {"worker_3", work}},
      .parameters = {element_count, job_count},
      .failing_operations = {"fail"},
  };
});

}  // namespace
}  // namespace lastref::harness
