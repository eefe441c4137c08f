#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

#ifdef __SANITIZE_ADDRESS__
// Its allocator ends a process that requests so much, or reports it.
constexpr bool can_request_memory = false;
#else
constexpr bool can_request_memory = true;
#endif
/// 2^60 bytes, which no machine has.
constexpr std::size_t too_many = std::size_t{1} << 58U;

void request_too_much(Stage& stage) {
  const auto array = Array::zeros(DType::parse("<i4").value(), {too_many});
  if (array || array.error().code != std::errc::not_enough_memory) {
    stage.refute("E15: an array without memory is an error", "another result");
  }
}

/// A program as users write them: it checks the result, reports it, and continues.
Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  if (can_request_memory) {
    request_too_much(stage);
  }
  ParallelOptions options = two_workers();
  options.n_jobs = stage.value(job_count);
  options.backend = backend_of(stage.value(worker_kind));
  Jobs jobs(stage, options);
  const std::vector<std::vector<Task>> bad = {{{"unknown"}},
                                              {{"square", {1}}, {"square", {"no number"}}}};
  for (const std::vector<Task>& tasks : bad) {
    const Outcome<List> failed = jobs.run("fail", tasks);
    if (failed) {
      stage.refute("E15: a failed task fails its call", "results");
    } else if (describe(failed.error()).empty()) {
      stage.refute("E15: a failed call gives a reason", "no reason");
    }
  }
  const Outcome<List> good = jobs.run("run again", squares(2));
  const Status run = must_be_squares(stage, good);
  if (!good && stage.is_undisturbed()) {
    stage.refute("E15: the program continues", describe(good.error()));
  }
  return first_failure({run, jobs.end()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A program requests an array too large for memory, and makes calls with a task that has "
          "no function or gets a bad argument. Each failure is a value that gives its reason, and "
          "the program continues.",
      .rows = {"E15", "B7"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}, {"worker_3", work}},
      .parameters = {job_count, worker_kind},
      .failing_operations = {"fail"},
  };
});

}  // namespace
}  // namespace lastref::harness
