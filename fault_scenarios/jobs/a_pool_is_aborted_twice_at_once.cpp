#include "fault_scenarios/jobs/jobs.hpp"
#include "fault_scenarios/support/jobs.hpp"

namespace lastref::harness {
namespace {

void must_have_an_end(Stage& stage, const Outcome<FuturePtr>& sent) {
  if (sent && (*sent)->get().has_value()) {
    stage.refute("B8: what runs when a pool is aborted fails", "results");
  }
}

void root(Stage& stage) {
  if (!stage.product().lead()) {
    return;
  }
  ProcessBackend backend(session_of(stage), functions_of(stage));
  const Status configured = stage.product().operation("configure", [&]() -> Status {
    LASTREF_TRY(ready, backend.configure({.n_jobs = 2}));
    return ready.n_jobs == 2 ? ok() : failure(std::errc::invalid_argument, "not two jobs");
  });
  if (!configured) {
    return;
  }
  const auto sent = backend.apply_async({{"wait"}}, nullptr);
  const auto other = stage.os().start_thread([&] {
    static_cast<void>(stage.product().operation("abort there", [&]() -> Status {
      LASTREF_TRY(aborted, backend.abort_everything(/*ensure_ready=*/true));
      static_cast<void>(aborted);
      return ok();
    }));
  });
  static_cast<void>(stage.product().operation("abort here", [&]() -> Status {
    LASTREF_TRY(aborted, backend.abort_everything(/*ensure_ready=*/true));
    static_cast<void>(aborted);
    return ok();
  }));
  if (other) {
    (*other)->join();
  }
  must_have_an_end(stage, sent);
  static_cast<void>(stage.product().operation("terminate", [&] { return backend.terminate(); }));
}

}  // namespace

Scenario a_pool_is_aborted_twice_at_once() {
  return {
      .name = "jobs/a_pool_is_aborted_twice_at_once",
      .sentence =
          "Two threads abort one pool at once: what runs fails, each has its answer, and no worker "
          "is left.",
      .rows = {"B8"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}},
      .possible_noise = {"workers are started by a process's first thread alone: n_jobs is 1"},
  };
}

}  // namespace lastref::harness
