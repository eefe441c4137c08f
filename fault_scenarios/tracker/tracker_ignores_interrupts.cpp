#include <lastref/owners.hpp>

#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// The folder of the trees: next to the folder of the run's files.
std::string trees_of(const Stage& stage) {
  return stage.folder().substr(0, stage.folder().rfind('/')) + "/runtime";
}

void must_not_run_yet(Stage& stage) {
  const auto folder = stage.os().open(trees_of(stage), {.folder = true});
  const os::UniqueFd trees(stage.os(), folder ? *folder : os::Fd::none);
  const auto entries = stage.os().read_folder(trees.get());
  if (entries && !entries->empty()) {
    stage.refute("T1: nothing is created and no tracker runs before the first use",
                 entries->front().name);
  }
}

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("counted.bin");
  {
    const auto unused = tracker::Client::lead(stage.os());
    must_not_run_yet(stage);
  }
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  product.must_exist(file);
  return first_failure({product.release(file), product.client().probe()});
}

// The matrix interrupts: at each call of the tracker, from its first one on, SIGINT and SIGTERM
// arrive, and the run must be the same as without them.
const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "The first use starts the tracker, which ignores SIGINT and SIGTERM from its first "
          "instant to its last.",
      .rows = {"T1"},
      .roles = {{"root", root}},
  };
});

}  // namespace
}  // namespace lastref::harness
