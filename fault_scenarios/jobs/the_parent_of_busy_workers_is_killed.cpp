#include "fault_scenarios/jobs/jobs.hpp"
#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/jobs.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Array array = numbered();
  if (!stage.product().lead() || !stage.start("killer")) {
    return;
  }
  Jobs jobs(stage);
  static_cast<void>(jobs.run("run", {{"wait", {array}}, {"wait", {array}}}));
}

void killer(Stage& stage) {
  if (stage.await("a task is waiting")) {
    stage.kill("root");
  }
}

}  // namespace

Scenario the_parent_of_busy_workers_is_killed() {
  return {
      .name = "jobs/the_parent_of_busy_workers_is_killed",
      .sentence =
          "The parent is killed while its workers are busy: they go with it, and what they mapped "
          "with them.",
      .rows = {"B9", "T5", "T9"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}, {"killer", killer}},
      // One worker may join, or open its array, only after the parent's death.
      .possible_noise = {"the last process of the tree left",
                         "an unknown name",
                         "lastref worker: gave up"},
      .failing_operations = {"run"},
  };
}

}  // namespace lastref::harness
