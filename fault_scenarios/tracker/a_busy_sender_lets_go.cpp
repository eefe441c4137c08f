#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource parcel = stage.product().file("parcel.bin");
  const Resource other = stage.product().file("other.bin");
  if (!stage.product().lead() || !stage.product().register_name(other) ||
      !stage.product().make(other) || !stage.product().register_name(parcel) ||
      !stage.product().make(parcel) || !stage.start("client_a")) {
    return;
  }
  stage.await("a is there");
  // What the tracker is woken by. When it reads it, the release below may lie behind it already,
  // and the hold that came before that one on another connection, which was silent at that moment.
  static_cast<void>(stage.product().release(other));
  stage.tell("hold");
  stage.await("a holds");
  static_cast<void>(stage.product().release(parcel));
  stage.tell("let go");
  stage.await("a has looked");
}

void client_a(Stage& stage) {
  const Resource parcel = stage.product().file("parcel.bin");
  if (!stage.product().join()) {
    return;
  }
  stage.tell("a is there");
  stage.await("hold");
  const bool holds = stage.product().hold(parcel).has_value();
  stage.tell("a holds");
  // If the sender was killed before, the parcel may have gone with it.
  if (stage.await("let go") && holds && stage.product().client().probe()) {
    stage.product().must_exist(parcel);
  }
  stage.tell("a has looked");
  static_cast<void>(stage.product().release(parcel));
}

}  // namespace

Scenario a_busy_sender_lets_go() {
  return {
      .name = "tracker/a_busy_sender_lets_go",
      .sentence =
          "The tracker reads a sender's last release behind other news of it; the hold that came "
          "before on another connection counts first.",
      .rows = {"T9"},
      .roles = {{"root", root}, {"client_a", client_a}},
  };
}

}  // namespace lastref::harness
