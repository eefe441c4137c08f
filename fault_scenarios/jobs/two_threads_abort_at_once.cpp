#include <utility>

#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

void must_have_failed(Stage& stage, const Outcome<FuturePtr>& sent) {
  if (sent && (*sent)->get().has_value()) {
    stage.refute("B8: a batch that runs during an abort fails", "results");
  }
}

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  ProcessBackend backend(session_of(stage), functions_of(stage));
  LASTREF_CHECK(product.operation("configure", [&]() -> Status {
    const int jobs = stage.value(pool_size);
    LASTREF_TRY(ready, backend.configure({.n_jobs = jobs}));
    return std::cmp_equal(ready.n_jobs, jobs) ? ok()
                                              : failure(std::errc::invalid_argument, "other jobs");
  }));
  const auto sent = backend.apply_async({{"wait"}}, nullptr);
  const auto abort = [&](const char* operation) {
    return product.operation(
        operation, [&] { return status_of(backend.abort_everything(/*ensure_ready=*/true)); });
  };
  Status there;
  const auto other = stage.os().start_thread([&] { there = abort("abort there"); });
  const Status here = abort("abort here");
  if (other) {
    (*other)->join();
  }
  if (here || there) {
    must_have_failed(stage, sent);
  }
  const Status ended = product.operation("terminate", [&] { return backend.terminate(); });
  return first_failure({status_of(other), there, here, ended});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Two threads abort one pool at the same time. Running tasks fail, both calls return, and "
          "no worker is left.",
      .rows = {"B8"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}, {"worker_3", work}},
      .parameters = {pool_size},
  };
});

}  // namespace
}  // namespace lastref::harness
