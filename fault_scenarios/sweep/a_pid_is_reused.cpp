#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/sweep/sweep.hpp"

namespace lastref::harness {
namespace {

/// A tree of its own, of which nobody is left.
void victim(Stage& stage) {
  const Array array = numbered();
  if (!stage.product().lead()) {
    return;
  }
  Parent parent(stage);
  if (!parent || !parent.send("array", array)) {
    return;
  }
  const auto folder = parent.resources().resolve_temp_folder_name();
  if (folder) {
    stage.send("pid", std::to_string(stage.os().process_id()));
    stage.send("folder", folder->path);
  }
  stage.stay_until_killed();
}

/// Has the pid of the victim, and nothing else of it.
void namesake(Stage& stage) {
  stage.send("namesake", std::to_string(stage.os().process_id()));
  stage.await("go");
}

void root(Stage& stage) {
  if (!stage.start("victim")) {
    return;
  }
  const auto pid = stage.receive("pid");
  const auto folder = stage.receive("folder");
  stage.kill("tracker");
  stage.kill("victim");
  stage.kill("tracker");  // The one that the victim may have started in between.
  if (!pid || !folder || !stage.outside().reuse_pid(std::stoi(*pid)) || !stage.start("namesake")) {
    return;
  }
  const auto namesake = stage.receive("namesake");
  if (namesake && *namesake != *pid && stage.is_undisturbed()) {
    stage.refute("the pid is used again", *namesake + " in place of " + *pid);
  }
  if (stage.product().lead() && stage.is_undisturbed() && !stage.outside().list(*folder).empty()) {
    stage.refute("M7: a dead tree is known by its lock, whoever has its pids now",
                 *folder + " is still there");
  }
  stage.tell("go");
}

}  // namespace

Scenario a_pid_is_reused() {
  return {
      .name = "sweep/a_pid_is_reused",
      .sentence =
          "A tree is killed whole, and another process gets the pid of its root: the next start "
          "takes "
          "away what the dead left all the same.",
      .rows = {"M7"},
      .roles = {{"root", root}, {"victim", victim}, {"namesake", namesake}},
      .possible_noise = {"the tracker was killed by signal 9; starting another"},
      .leaves_to_the_next_start = true,
  };
}

}  // namespace lastref::harness
