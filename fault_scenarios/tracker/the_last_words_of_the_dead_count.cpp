#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const Resource file = stage.product().file("let_go.bin");
  if (!stage.product().lead() || !stage.product().register_name(file) ||
      !stage.product().make(file)) {
    return;
  }
  static_cast<void>(stage.product().release(file));
  stage.kill("root");
}

}  // namespace

Scenario the_last_words_of_the_dead_count() {
  return {
      .name = "tracker/the_last_words_of_the_dead_count",
      .sentence =
          "The last process releases what it held and is killed before the tracker reads that: "
          "it has left nothing, and nobody says that it had.",
      .rows = {"T9"},
      .roles = {{"root", root}},
  };
}

}  // namespace lastref::harness
