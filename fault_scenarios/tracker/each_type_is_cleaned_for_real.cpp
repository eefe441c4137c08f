#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const std::vector<Resource> all = {stage.product().file("typed.bin"),
                                     stage.product().folder("typed"),
                                     stage.product().semaphore("lastref-typed"),
                                     stage.product().shm("lastref-typed"),
                                     {.type = ResourceType::noop, .name = "typed"}};
  if (!stage.product().lead()) {
    return;
  }
  for (const Resource& resource : all) {
    if (!stage.product().register_name(resource) || !stage.product().make(resource)) {
      return;
    }
  }
  for (const Resource& resource : all) {
    static_cast<void>(stage.product().release(resource));
  }
  static_cast<void>(stage.product().client().probe());
}

}  // namespace

Scenario each_type_is_cleaned_for_real() {
  return {
      .name = "tracker/each_type_is_cleaned_for_real",
      .sentence =
          "A file, a folder, a semaphore and a shared memory object end with their last "
          "reference; a noop ends without a trace.",
      .rows = {"T4"},
      .roles = {{"root", root}},
  };
}

}  // namespace lastref::harness
