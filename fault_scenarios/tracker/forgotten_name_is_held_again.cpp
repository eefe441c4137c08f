#include <vector>

#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("again.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  LASTREF_CHECK(stage.start("client_a"));
  stage.await("a holds");
  LASTREF_CHECK(product.forget(file));
  LASTREF_CHECK(product.register_name(file));
  stage.tell("it is registered again");
  stage.await("a holds again");
  stage.kill("tracker");
  // The next tracker has to learn from the other process that it holds the name again.
  const Status released = first_failure({product.client().probe(), product.release(file)});
  const Status probed = product.client().probe();
  stage.tell("the root has released");
  return first_failure({released, probed});
}

/// Each process has one reference at most: what client_a held before is forgotten.
void check_counts(Stage& stage) {
  const auto counts = stage.product().client().counts();
  for (const tracker::Count& each : counts.value_or(std::vector<tracker::Count>())) {
    if (each.count > 1) {
      stage.refute("T3: no reference outlives the forget of its name",
                   std::to_string(each.holder) + " is counted " + std::to_string(each.count) +
                       " times at " + to_text(each.resource));
    }
  }
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("again.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(product.hold(file));
  stage.tell("a holds");
  if (!stage.await("it is registered again")) {
    return ok();
  }
  LASTREF_CHECK(product.hold(file));
  stage.tell("a holds again");
  const bool is_alone = stage.await("the root has released");
  const Status probed = product.client().probe();
  if (is_alone && probed) {
    product.must_exist(file);
    check_counts(stage);
  }
  return first_failure({probed, product.release(file)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A name is forgotten while another process holds it, and registered again. The other "
          "process holds it again, perhaps before it reads the forget. The restarted tracker "
          "learns of that hold.",
      .rows = {"T3", "T6"},
      .roles = {{"root", root}, {"client_a", client_a}},
      .expected_noise = {"the tracker was killed by signal 9; starting another"},
      .stays = {"file:again.bin"},
  };
});

}  // namespace
}  // namespace lastref::harness
