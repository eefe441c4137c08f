#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource first = stage.product().file("first.bin");
  const Resource second = stage.product().file("second.bin");
  if (!stage.product().lead() || !stage.product().register_name(first) ||
      !stage.product().make(first)) {
    return;
  }
  if (!stage.start("client_a") || !stage.start("client_b")) {
    return;
  }
  stage.await("a holds");
  stage.await("b holds");
  stage.kill("tracker");
  stage.tell("go");
  // Released by the one tracker or by the next: it must not matter.
  static_cast<void>(stage.product().release(first));
  if (stage.product().register_name(second) && stage.product().make(second)) {
    stage.product().must_exist(second);
  }
  stage.await("a is done");
  stage.await("b is done");
  static_cast<void>(stage.product().release(second));
}

void client(Stage& stage, const std::string& self) {
  const Resource first = stage.product().file("first.bin");
  if (!stage.product().join() || !stage.product().hold(first)) {
    return;
  }
  stage.tell(self + " holds");
  if (!stage.await("go")) {
    return;
  }
  static_cast<void>(stage.product().client().probe());
  stage.product().must_exist(first);
  static_cast<void>(stage.product().release(first));
  stage.tell(self + " is done");
}

}  // namespace

Scenario the_tracker_is_killed() {
  return {
      .name = "tracker/the_tracker_is_killed",
      .sentence =
          "The tracker is killed while three processes hold; the root starts another, "
          "everybody announces again, and no count is lost.",
      .rows = {"T6", "T9"},
      .roles = {{"root", root},
                {"client_a", [](Stage& stage) { client(stage, "a"); }},
                {"client_b", [](Stage& stage) { client(stage, "b"); }}},
      .expected_noise = {"the tracker was killed by signal 9; starting another"},
  };
}

}  // namespace lastref::harness
