#include "fault_scenarios/support/trees.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const std::vector<Resource> first = files_of(stage, "first.bin");
  const Resource second = product.file("second.bin");
  LASTREF_CHECK(enter_tree(stage));
  LASTREF_CHECK(make_all(stage, first));
  LASTREF_CHECK(stage.start("client_a"));
  LASTREF_CHECK(stage.start("client_b"));
  stage.await("a holds");
  stage.await("b holds");
  stage.kill("tracker");
  stage.tell("go");
  // Released by this tracker or by the next: it must not matter.
  const Status released = release_all(stage, first);
  const auto make_second = [&]() -> Status {
    LASTREF_CHECK(product.register_name(second));
    LASTREF_CHECK(product.make(second));
    product.must_exist(second);
    return ok();
  };
  const Status made = make_second();
  stage.await("a is done");
  stage.await("b is done");
  return first_failure({released, made, product.release(second)});
}

Status client(Stage& stage, const std::string& self) {
  Product& product = stage.product();
  const std::vector<Resource> first = files_of(stage, "first.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(hold_all(stage, first));
  stage.tell(self + " holds");
  if (!stage.await("go")) {
    return ok();
  }
  const Status probed = product.client().probe();
  if (probed) {  // Otherwise its tracker may have reported that it has no more space for it.
    must_all_exist(stage, first);
  }
  const Status released = release_all(stage, first);
  stage.tell(self + " is done");
  return first_failure({probed, released});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "The tracker is killed while three processes hold references. The root starts another, "
          "all processes announce their references again, and no count is lost.",
      .rows = {"T6", "T9"},
      .roles = {{"root", root},
                {"client_a", [](Stage& stage) { return client(stage, "a"); }},
                {"client_b", [](Stage& stage) { return client(stage, "b"); }},
                {"leader", lead_tree}},
      .parameters = {name_count, tree_starter},
      .expected_noise = {"the tracker was killed by signal 9; starting another"},
  };
});

}  // namespace
}  // namespace lastref::harness
