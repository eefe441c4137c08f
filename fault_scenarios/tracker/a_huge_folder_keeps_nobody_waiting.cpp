#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

constexpr int files = 2000;

void root(Stage& stage) {
  const Resource folder = stage.product().folder("huge");
  const Resource other = stage.product().file("other.bin");
  if (!stage.product().lead() || !stage.product().register_name(folder) ||
      !stage.product().make(folder)) {
    return;
  }
  for (int number = 0; number < files; ++number) {
    const auto made = stage.os().open(folder.name + "/" + std::to_string(number),
                                      {.write = true, .create = true});
    if (!made || !stage.os().close(*made)) {
      return;
    }
  }
  static_cast<void>(stage.product().release(folder));
  // Two questions, so that the second is asked after the round that began the deletion.
  if (!stage.product().client().probe() || !stage.product().register_name(other)) {
    return;
  }
  if (!stage.os().status_at(folder.name)) {
    stage.refute("T10: slow clean-up never blocks a client",
                 "the folder was gone before the answer");
  }
  // The very name that is being deleted has to wait for the end of that.
  if (!stage.product().register_name(folder)) {
    return;
  }
  if (!stage.product().make(folder)) {
    stage.refute("T10: a name that is being deleted is given to nobody before the end of that",
                 "the folder was in the way");
  }
  stage.product().must_exist(folder);
}

}  // namespace

Scenario a_huge_folder_keeps_nobody_waiting() {
  return {
      .name = "tracker/a_huge_folder_keeps_nobody_waiting",
      .sentence =
          "While a folder of two thousand files is being deleted, other processes are "
          "served.",
      .rows = {"T10", "T4"},
      .roles = {{"root", root}},
      .expected_noise = {"the last process of the tree left 1 "},
      .in_matrix = false,
  };
}

}  // namespace lastref::harness
