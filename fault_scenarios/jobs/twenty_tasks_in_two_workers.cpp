#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const std::uint32_t count = stage.value(element_count);
  const std::vector<Array> arrays = {numbered(1, count), numbered(2, count), numbered(3, count)};
  LASTREF_CHECK(stage.product().lead());
  ParallelOptions options = two_workers();
  options.n_jobs = stage.value(job_count);
  options.batch_size = stage.value(tasks_per_batch);
  options.backend = backend_of(stage.value(worker_kind));
  Jobs jobs(stage, options);
  constexpr std::size_t tasks = 20;
  const Status run = must_be_sums(stage, jobs.run("run", sums_of(arrays, tasks)), arrays);
  return first_failure({run, jobs.end()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Twenty tasks take three arrays through files to two workers. Whichever process dies, "
          "the caller has all results or an error, and nothing is left.",
      .rows = {"B5", "B9", "B10", "T9"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}, {"worker_3", work}},
      .parameters = {element_count, job_count, tasks_per_batch, worker_kind},
  };
});

}  // namespace
}  // namespace lastref::harness
