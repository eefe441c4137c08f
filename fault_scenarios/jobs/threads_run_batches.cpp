#include "fault_scenarios/jobs/jobs.hpp"
#include "fault_scenarios/support/jobs.hpp"

namespace lastref::harness {
namespace {

/// Configures, and returns who runs the batches then.
std::shared_ptr<ParallelBackend> configured(Stage& stage,
                                            const std::shared_ptr<ThreadingBackend>& backend,
                                            int n_jobs) {
  std::shared_ptr<ParallelBackend> runs;
  static_cast<void>(stage.product().operation("configure", [&]() -> Status {
    LASTREF_TRY(ready, backend->configure({.n_jobs = n_jobs}));
    if ((ready.fallback != nullptr) != (n_jobs == 1)) {
      stage.refute("B4: one job falls back to the caller, and more have threads",
                   std::to_string(n_jobs) + (ready.fallback ? " jobs fell back" : " has a pool"));
    }
    runs = ready.fallback ? ready.fallback : backend;
    return ok();
  }));
  return runs;
}

void root(Stage& stage) {
  if (!stage.product().lead()) {
    return;
  }
  for (const int n_jobs : {1, 2}) {
    const auto backend = std::make_shared<ThreadingBackend>(session_of(stage), functions_of(stage));
    if (const auto runs = configured(stage, backend, n_jobs)) {
      must_call_back_once(stage, *runs);
    }
  }
}

}  // namespace

Scenario threads_run_batches() {
  return {
      .name = "jobs/threads_run_batches",
      .sentence =
          "One job in threads is run by the caller and two by a pool; each batch has its results "
          "and calls back once.",
      .rows = {"B4", "B1"},
      .roles = {{"root", root}},
  };
}

}  // namespace lastref::harness
