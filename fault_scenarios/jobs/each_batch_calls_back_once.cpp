#include <utility>

#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

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
  return must_call_back_once(stage, backend);
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Batches are sent to two workers. Whichever process dies, each accepted batch has an "
          "outcome and calls back once.",
      .rows = {"B1", "B9"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}, {"worker_3", work}},
      .parameters = {pool_size},
  };
});

}  // namespace
}  // namespace lastref::harness
