#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  ProcessBackend backend(session_of(stage), functions_of(stage));
  LASTREF_CHECK(product.operation("configure", [&]() -> Status {
    LASTREF_TRY(ready, backend.configure({.n_jobs = 2}));
    return ready.n_jobs == 2 ? ok() : failure(std::errc::invalid_argument, "not two jobs");
  }));
  return must_call_back_once(stage, backend);
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Batches are sent to two workers. Whichever process dies, each accepted batch has an "
          "outcome and calls back once.",
      .rows = {"B1", "B9"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}},
  };
});

}  // namespace
}  // namespace lastref::harness
