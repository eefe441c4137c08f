#include "fault_scenarios/jobs/jobs.hpp"
#include "fault_scenarios/support/jobs.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  Jobs jobs(stage);
  const Outcome<List> thrown = jobs.run("fail", {{"throw"}, {"square", {1}}});
  const auto* exception = thrown ? nullptr : std::get_if<TransportableException>(&thrown.error());
  if (stage.is_undisturbed() && (exception == nullptr || exception->type != "std::runtime_error" ||
                                 exception->message != "as it was told")) {
    stage.refute("B7: what a task throws comes back as it was thrown",
                 thrown ? "results" : describe(thrown.error()));
  }
  const Status run = must_be_squares(stage, jobs.run("run again", squares(2)));
  return first_failure({run, jobs.end()});
}

}  // namespace

Scenario a_task_throws() {
  return {
      .name = "jobs/a_task_throws",
      .sentence =
          "A task throws: the call fails with what it threw, and the next call of the same object "
          "begins clean.",
      .rows = {"B7", "B10"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}},
      .failing_operations = {"fail"},
  };
}

}  // namespace lastref::harness
