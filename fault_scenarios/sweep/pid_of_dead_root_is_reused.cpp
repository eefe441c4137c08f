#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// A tree of its own that has no live process left.
Status victim(Stage& stage) {
  const Array array = numbered();
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(parent.send("array", array));
  LASTREF_TRY(folder, parent.resources().resolve_temp_folder_name());
  stage.send("pid", std::to_string(stage.os().process_id()));
  stage.send("folder", folder.path);
  stage.stay_until_killed();
  return ok();
}

/// Has the pid of the victim, and nothing else in common with it.
Status namesake(Stage& stage) {
  stage.send("namesake", std::to_string(stage.os().process_id()));
  stage.await("go");
  return ok();
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.start("victim"));
  const Result<std::string> pid = stage.receive("pid");
  const Result<std::string> folder = stage.receive("folder");
  stage.kill("tracker");
  stage.kill("victim");
  stage.kill("tracker");  // The one that the victim may have started in between.
  LASTREF_CHECK(pid);
  LASTREF_CHECK(folder);
  if (!stage.outside().reuse_pid(std::stoi(*pid))) {
    return ok();
  }
  LASTREF_CHECK(stage.start("namesake"));
  const Result<std::string> namesake = stage.receive("namesake");
  if (namesake && *namesake != *pid && stage.is_undisturbed()) {
    stage.refute("the pid is reused", *namesake + " in place of " + *pid);
  }
  const Status led = stage.product().lead();
  if (led && stage.is_undisturbed() && !stage.outside().list(*folder).empty()) {
    stage.refute("M7: an orphaned tree is detected by its lock, even if its pids are reused",
                 *folder + " still exists");
  }
  stage.tell("go");
  return first_failure({status_of(namesake), led});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "All processes of a tree are killed, and another process gets the pid of its root. The "
          "next start still removes the leftovers.",
      .rows = {"M7"},
      .roles = {{"root", root}, {"victim", victim}, {"namesake", namesake}},
      .possible_noise = {"the tracker was killed by signal 9; starting another"},
      .leaves_to_the_next_start = true,
  };
});

}  // namespace
}  // namespace lastref::harness
