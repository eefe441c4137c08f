#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

struct Asked {
  std::optional<int> n_jobs;
  std::size_t workers;  ///< One job needs none.
};

/// A run has two processors.
constexpr Asked asked[] = {{2, 2}, {-1, 2}, {-2, 0}, {-7, 0}, {1, 0}, {std::nullopt, 0}};

std::string text_of(std::optional<int> n_jobs) {
  return n_jobs ? std::to_string(*n_jobs) : "none";
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  ParallelOptions options = two_workers();
  for (const auto& [n_jobs, workers] : asked) {
    options.n_jobs = n_jobs;
    Jobs jobs(stage, options);
    const Status run = must_be_squares(stage, jobs.run("run", squares(2)));
    const std::size_t seen = stage.processes("worker_1") + stage.processes("worker_2");
    if (stage.is_undisturbed() && seen != workers) {
      stage.refute("B3: n_jobs sets the number of workers",
                   text_of(n_jobs) + " jobs: " + std::to_string(seen) + " workers");
    }
    LASTREF_CHECK(first_failure({run, jobs.end()}));
  }
  options.n_jobs = 0;
  Jobs jobs(stage, options);
  if (jobs.run("run no jobs", squares(2))) {
    stage.refute("B3: n_jobs = 0 is an error", "results");
  }
  SequentialBackend caller(session_of(stage), functions_of(stage));
  if (caller.effective_n_jobs(0)) {
    stage.refute("B2: n_jobs = 0 is an error in the sequential backend too", "a number");
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "With two processors, n_jobs = -1 starts two workers. With -2 or less, 1, or none, tasks "
          "run in the caller. 0 is an error.",
      .rows = {"B3", "B5"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}},
      .failing_operations = {"run no jobs"},
  };
});

}  // namespace
}  // namespace lastref::harness
