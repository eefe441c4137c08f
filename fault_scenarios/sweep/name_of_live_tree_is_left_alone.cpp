#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Resource folder_of(Stage& stage) {
  return stage.product().folder("shared");
}

Resource file_of(Stage& stage) {
  return {.type = ResourceType::file, .name = folder_of(stage).name + "/of_both.bin"};
}

/// A tree of its own that has no live process left.
Status victim(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  for (const Resource& name : {folder_of(stage), file_of(stage)}) {
    LASTREF_CHECK(product.register_name(name));
    LASTREF_CHECK(product.make(name));
  }
  stage.tell("it is made");
  stage.stay_until_killed();
  return ok();
}

/// A third tree: starting one sweeps first.
Status next(Stage& stage) {
  Status led = stage.product().lead();
  if (led) {
    led = stage.product().client().probe();
  }
  stage.tell("next has swept");
  return led;
}

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(stage.start("victim"));
  const bool is_made = stage.await("it is made");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file_of(stage)));
  stage.stop("victim");  // Otherwise it might start another tracker, which would clean up.
  stage.kill("tracker");
  stage.kill("victim");
  const Status probed = product.client().probe();
  LASTREF_CHECK(stage.start("next"));
  stage.await("next has swept");
  if (is_made && stage.is_undisturbed()) {
    product.must_exist(file_of(stage));
  }
  return first_failure({probed, product.release(file_of(stage))});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "All processes of a tree are killed. It had counted a folder and a file in it, which a "
          "live tree also counts. The next start leaves both alone, and leaves the folder to a "
          "later start.",
      .rows = {"M7", "E4"},
      .roles = {{"root", root}, {"victim", victim}, {"next", next}},
      .possible_noise = {"the tracker was killed by signal 9; starting another",
                         "is left alone: a live tree counts it"},
      .outside_matrix = "oracles do not know names that two trees count",
      .leaves_to_the_next_start = true,
  };
});

}  // namespace
}  // namespace lastref::harness
