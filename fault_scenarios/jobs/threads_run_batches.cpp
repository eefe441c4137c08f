#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr Parameter<int> threads = {
    .name = "threads", .usual = 2, .values = {2, 3, 5}, .unit = "of the pool"};

/// Configures, and returns the backend that then runs the batches.
Result<std::shared_ptr<ParallelBackend>> configured(
    Stage& stage, const std::shared_ptr<ThreadingBackend>& backend, int n_jobs) {
  std::shared_ptr<ParallelBackend> runs;
  LASTREF_CHECK(stage.product().operation("configure", [&]() -> Status {
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

/// A lack of memory is an error, in any thread.
Status exhaust_memory(Stage& stage, ParallelBackend& backend) {
  return stage.product().operation("exhaust memory", [&]() -> Status {
    const auto sent = backend.apply_async({{"exhaust memory"}}, {});
    const auto* failed = !sent ? &sent.error() : nullptr;
    if (sent && !(*sent)->get()) {
      failed = &(*sent)->get().error();
    }
    const auto* error = failed == nullptr ? nullptr : std::get_if<Error>(failed);
    if (stage.is_undisturbed() &&
        (error == nullptr || error->code != std::errc::not_enough_memory)) {
      stage.refute("E10: a task without memory fails with not_enough_memory",
                   failed == nullptr ? "results" : describe(*failed));
    }
    return ok();
  });
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  Status done;
  for (const int n_jobs : {1, stage.value(threads)}) {
    const auto backend = std::make_shared<ThreadingBackend>(session_of(stage), functions_of(stage));
    const auto runs = configured(stage, backend, n_jobs);
    if (runs && n_jobs > 1) {
      done = first_failure({done, exhaust_memory(stage, **runs)});
    }
    done = first_failure({done, runs ? must_call_back_once(stage, **runs) : status_of(runs)});
  }
  return done;
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "One job in threads runs in the caller, and two run in a pool. Each batch has its "
          "results and calls back once. A batch without memory fails with that error.",
      .rows = {"B4", "B1", "E10"},
      .roles = {{"root", root}},
      .parameters = {threads},
  };
});

}  // namespace
}  // namespace lastref::harness
