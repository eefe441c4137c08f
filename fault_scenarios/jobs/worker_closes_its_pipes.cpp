#include <lastref/worker.hpp>

#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  Jobs jobs(stage);
  const Outcome<List> outcome = jobs.run("fail", {{"wait"}, {"wait"}});
  const auto* error = outcome ? nullptr : std::get_if<Error>(&outcome.error());
  if (stage.is_undisturbed() && (error == nullptr || error->code != std::errc::broken_pipe)) {
    stage.refute("E13: the reported cause is the true one",
                 outcome ? "results" : describe(outcome.error()));
  }
  return jobs.end();
}

/// Stays alive, and sends nothing.
Status silent(Stage& stage) {
  for (const int number : {worker::jobs_fd, worker::results_fd, worker::parent_fd}) {
    may_fail(stage.os().close(os::Fd{number}));
  }
  stage.stay_until_killed();
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A worker closes its pipes and keeps running. It is killed after a while, and the call "
          "fails with the reason.",
      .rows = {"B9", "E13"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", silent}},
      .failing_operations = {"fail"},
      .outside_matrix = "other job scenarios make the same calls",
  };
});

}  // namespace
}  // namespace lastref::harness
