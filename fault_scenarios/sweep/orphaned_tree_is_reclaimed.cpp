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
  stage.send("folder", folder.path);
  stage.stay_until_killed();
  return ok();
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.start("victim"));
  const Result<std::string> folder = stage.receive("folder");
  stage.kill("tracker");
  stage.kill("victim");
  stage.kill("tracker");  // The one that the victim may have started in between.
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(folder);
  if (stage.is_undisturbed() && !stage.outside().list(*folder).empty()) {
    stage.refute("M7: the next start removes the leftovers of an orphaned tree",
                 *folder + " still exists");
  }
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(parent.send("array", numbered()));
  return parent.clean_up();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "All processes of a tree are killed, including its tracker. The next start finds its "
          "folder of arrays and removes it.",
      .rows = {"M7"},
      .roles = {{"root", root}, {"victim", victim}},
      .possible_noise = {"the tracker was killed by signal 9; starting another"},
      .leaves_to_the_next_start = true,
  };
});

}  // namespace
}  // namespace lastref::harness
