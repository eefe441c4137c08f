#include <algorithm>

#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource file = stage.product().file("parcel.bin");
  if (!stage.product().lead() || !stage.product().register_name(file) ||
      !stage.product().make(file)) {
    return;
  }
  if (!stage.start("client_a")) {
    return;
  }
  stage.await("a holds");
  static_cast<void>(stage.product().release(file));
  stage.await("b holds");
}

void client_a(Stage& stage) {
  const Resource file = stage.product().file("parcel.bin");
  if (!stage.product().join() || !stage.product().hold(file)) {
    return;
  }
  stage.tell("a holds");
  if (!stage.start("client_b")) {
    return;
  }
  stage.await("b holds");
  static_cast<void>(stage.product().release(file));
}

/// Not so if the sender was killed before we could say that we hold.
bool is_counted(Stage& stage, const Resource& file) {
  const auto counts = stage.product().client().counts();
  return counts && std::ranges::any_of(*counts, [&](const tracker::Count& each) {
           return each.resource == file && each.holder == stage.os().process_id();
         });
}

void client_b(Stage& stage) {
  const Resource file = stage.product().file("parcel.bin");
  if (!stage.product().join() || !stage.product().hold(file)) {
    return;
  }
  stage.tell("b holds");
  if (is_counted(stage, file)) {
    stage.product().must_exist(file);
    static_cast<void>(stage.product().client().probe());
    stage.product().must_exist(file);
  }
  static_cast<void>(stage.product().release(file));
}

}  // namespace

Scenario a_reference_is_held_before_the_sender_lets_go() {
  return {
      .name = "tracker/a_reference_is_held_before_the_sender_lets_go",
      .sentence =
          "A sender keeps its reference until the receiver has said that it holds; the "
          "file is there all the way.",
      .rows = {"T9"},
      .roles = {{"root", root}, {"client_a", client_a}, {"client_b", client_b}},
  };
}

}  // namespace lastref::harness
