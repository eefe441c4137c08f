#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource file = stage.product().file("shared.bin");
  if (!stage.product().lead() || !stage.product().register_name(file) ||
      !stage.product().make(file)) {
    return;
  }
  if (!stage.start("client_a") || !stage.start("client_b")) {
    return;
  }
  stage.await("a holds");
  stage.await("b holds");
  if (!stage.product().release(file)) {
    return;
  }
  stage.tell("go");
  stage.await("a is done");
  stage.await("b is done");
}

void client(Stage& stage, const std::string& self) {
  const Resource file = stage.product().file("shared.bin");
  if (!stage.product().join() || !stage.product().hold(file)) {
    return;
  }
  stage.tell(self + " holds");
  if (!stage.await("go")) {
    return;
  }
  stage.product().must_exist(file);
  static_cast<void>(stage.product().release(file));
  stage.tell(self + " is done");
}

}  // namespace

Scenario two_holders_release_at_once() {
  return {
      .name = "tracker/two_holders_release_at_once",
      .sentence =
          "Two processes release the last two references to a file at once; it is removed "
          "once, and nobody hangs.",
      .rows = {"T3", "T9"},
      .roles = {{"root", root},
                {"client_a", [](Stage& stage) { client(stage, "a"); }},
                {"client_b", [](Stage& stage) { client(stage, "b"); }}},
  };
}

}  // namespace lastref::harness
