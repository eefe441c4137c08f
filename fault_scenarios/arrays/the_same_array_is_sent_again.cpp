#include <string_view>

#include "fault_scenarios/arrays/arrays.hpp"
#include "fault_scenarios/support/array_travel.hpp"

namespace lastref::harness {
namespace {

/// The life of a file ends with the clean-up of its context. Bug 1 took the keep-alive reference
/// once for each name ever seen, so the second call's file had none.
void root(Stage& stage) {
  const Array array = numbered();
  if (!stage.product().lead()) {
    return;
  }
  Parent parent(stage);
  if (!parent || !stage.start("worker") || !parent.send("first", array)) {
    return;
  }
  await_arrival(stage, "first");
  parent.arrived("first");
  if (!parent.clean_up() || !parent.begin("call") || !parent.send("second", array)) {
    return;
  }
  const Resource file{.type = ResourceType::file, .name = parent.last_file()};
  await_arrival(stage, "second");
  parent.arrived("second");
  stage.await("let go");
  if (!stage.product().client().probe()) {
    return;
  }
  stage.product().must_exist(file);  // The next task of this call would be sent the same.
  static_cast<void>(parent.send("third", array));
  await_arrival(stage, "third");
  parent.arrived("third");
  static_cast<void>(parent.clean_up());
}

void worker(Stage& stage) {
  if (!stage.product().join()) {
    return;
  }
  Worker worker(stage);
  for (const char* word : {"first", "second", "third"}) {
    const auto array = worker.receive(word);
    if (!array) {
      return;
    }
    must_equal(stage, *array, numbered());
    if (std::string_view(word) == "second") {
      stage.tell("let go");
    }
  }
}

}  // namespace

Scenario the_same_array_is_sent_again() {
  return {
      .name = "arrays/the_same_array_is_sent_again",
      .sentence =
          "An array is sent in two calls of one parent: each call has a file of its own life, "
          "which "
          "stays until the call is cleaned up, whatever the workers let go of.",
      .rows = {"R4", "M2", "M4"},
      .roles = {{"root", root}, {"worker", worker}},
  };
}

}  // namespace lastref::harness
