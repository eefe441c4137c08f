#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const Array array = numbered();
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(stage.start("terminal"));
  Jobs jobs(stage);
  return status_of(jobs.run("run", {{"wait", {array}}, {"wait", {array}}}));
}

Status terminal(Stage& stage) {
  Status ignored = stage.os().ignore_signal(os::Signal::interrupt);
  if (stage.await("a task is waiting")) {
    stage.interrupt_all();
  }
  return ignored;
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "All processes receive SIGINT. The parent decides: if it dies, its workers exit with it "
          "and the tracker cleans up.",
      .rows = {"B5", "B9", "T1", "T5"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}, {"terminal", terminal}},
      // One worker may join, or open its array, only after the parent's death.
      .possible_noise = {"the last process of the tree has ended: removing",
                         "an unknown name",
                         "lastref worker: gave up"},
      .failing_operations = {"run"},
  };
});

}  // namespace
}  // namespace lastref::harness
