#include "fault_scenarios/arrays/arrays.hpp"
#include "fault_scenarios/support/array_travel.hpp"

namespace lastref::harness {
namespace {

/// Sends an array through a file below a folder, with pages touched if the reducer finds it useful.
void send_through(Stage& stage, const std::string& folder, const std::string& word) {
  const Array array = numbered();
  Parent parent(
      stage, {.root = folder}, nullptr, {.max_nbytes = large, .prewarm = Prewarm::automatic});
  if (!parent || !parent.send(word, array)) {
    stage.send(word, {});
    return;
  }
  await_arrival(stage, word);
  parent.arrived(word);
  static_cast<void>(parent.clean_up());
}

void root(Stage& stage) {
  if (!stage.product().lead() || !stage.start("worker")) {
    return;
  }
  send_through(stage, stage.folder(), "on shared memory");
  send_through(stage, stage.spare_folder(), "elsewhere");
}

void worker(Stage& stage) {
  if (!stage.product().join()) {
    return;
  }
  Worker worker(stage);
  for (const char* word : {"on shared memory", "elsewhere"}) {
    if (const auto array = worker.receive(word)) {
      must_equal(stage, *array, numbered());
    }
  }
}

}  // namespace

Scenario files_are_warmed_up() {
  return {
      .name = "arrays/files_are_warmed_up",
      .sentence =
          "A reducer that touches the pages of new files where that helps sends one through shared "
          "memory and one elsewhere: whatever fails at it, both arrive.",
      .rows = {"R10"},
      .roles = {{"root", root}, {"worker", worker}},
  };
}

}  // namespace lastref::harness
