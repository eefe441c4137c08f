#include <lastref/owners.hpp>
#include <lastref/worker.hpp>

#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// A main that does not check whether it is a worker, and so makes a pool in what should be one.
Status copy(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  ParallelOptions alone = two_workers();
  alone.n_jobs = 1;
  Jobs in_caller(stage, alone);
  const Outcome<List> squared = in_caller.run("run alone", squares(2));
  if (stage.is_undisturbed() && !squared) {
    stage.refute("B5: one job runs in the caller, in any environment", describe(squared.error()));
  }
  Jobs in_workers(stage);
  const Outcome<List> refused = in_workers.run("start workers", squares(2));
  const auto* error = refused ? nullptr : std::get_if<Error>(&refused.error());
  if (stage.is_undisturbed() &&
      (error == nullptr || error->code != std::errc::operation_not_permitted)) {
    stage.refute("B5: a program started as a worker starts no workers",
                 refused ? "results" : describe(refused.error()));
  }
  const Status all =
      first_failure({must_be_squares(stage, squared), in_caller.end(), in_workers.end()});
  stage.tell("the copy is done");
  return all;
}

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  LASTREF_TRY(tree, product.client().tree());
  LASTREF_TRY(started,
              stage.os().spawn({.entry = "copy",
                                .arguments = {tree},
                                .fds = {},
                                .blocked = {},
                                .environment = {{worker::marker, "1"}},
                                .end_wanted = false}));
  os::UniqueFd(stage.os(), started.process).close_quietly();
  stage.await("the copy is done");
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A program that was started as a worker makes a pool. One job runs in the caller. More "
          "jobs are refused, because each would start the program again.",
      .rows = {"B5"},
      .roles = {{"root", root}, {"copy", copy}},
      .failing_operations = {"start workers"},
  };
});

}  // namespace
}  // namespace lastref::harness
