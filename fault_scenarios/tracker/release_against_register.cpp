#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource file = stage.product().file("again.bin");
  if (!stage.product().lead() || !stage.product().register_name(file) ||
      !stage.product().make(file)) {
    return;
  }
  if (!stage.start("client_a")) {
    return;
  }
  stage.await("a has joined");
  stage.tell("go");
  static_cast<void>(stage.product().release(file));
  stage.await("a is done");
}

void client_a(Stage& stage) {
  const Resource file = stage.product().file("again.bin");
  if (!stage.product().join()) {
    return;
  }
  stage.tell("a has joined");
  if (!stage.await("go") || !stage.product().register_name(file)) {
    return;
  }
  // Either the first life of the name still goes on, or it has ended and is cleaned up: never
  // between.
  const Status made = stage.product().make(file);
  if (made || made.error().code == std::errc::file_exists) {
    static_cast<void>(stage.product().client().probe());
    stage.product().must_exist(file);
  }
  static_cast<void>(stage.product().release(file));
  stage.tell("a is done");
}

}  // namespace

Scenario release_against_register() {
  return {
      .name = "tracker/release_against_register",
      .sentence =
          "One process releases the last reference while another registers the same name "
          "anew and makes it; what it made stays until it lets go.",
      .rows = {"T3", "T9", "T10"},
      .roles = {{"root", root}, {"client_a", client_a}},
      .failing_operations = {"make"},
  };
}

}  // namespace lastref::harness
