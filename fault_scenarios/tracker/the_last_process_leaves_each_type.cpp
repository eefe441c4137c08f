#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const std::vector<Resource> all = {product.folder("left"),
                                     product.file("left/inside.bin"),
                                     product.semaphore("lastref-left"),
                                     product.shm("lastref-left")};
  LASTREF_CHECK(product.lead());
  for (const Resource& resource : all) {
    LASTREF_CHECK(product.register_name(resource));
    LASTREF_CHECK(product.make(resource));
  }
  return ok();
}

}  // namespace

Scenario the_last_process_leaves_each_type() {
  return {
      .name = "tracker/the_last_process_leaves_each_type",
      .sentence =
          "The last process ends and holds one of each type: all is cleaned, folders "
          "last, with a line for each type.",
      .rows = {"T5", "T4"},
      .roles = {{"root", root}},
      .expected_noise = {"the last process of the tree left 1 file: file:",
                         "the last process of the tree left 1 folder: folder:",
                         "the last process of the tree left 1 semlock: semlock:",
                         "the last process of the tree left 1 shm: shm:"},
  };
}

}  // namespace lastref::harness
