#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(stage.start("client_a"));
  stage.await("the fork runs");
  stage.kill("client_a");
  // Then the tracker's counts are checked, and the dead process must hold nothing.
  stage.wait_for_quiet();
  stage.tell("fork, go");
  return ok();
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("of_the_parent.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  stage.fork_stranger([&stage] {
    stage.tell("the fork runs");
    stage.await("fork, go");
    return ok();
  });
  stage.stay_until_killed();
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A process that merely forked from a client neither keeps its dead parent's file nor "
          "delays the end of the tree.",
      .rows = {"T8"},
      .roles = {{"root", root}, {"client_a", client_a}},
      .kernel_only = true,
  };
});

}  // namespace
}  // namespace lastref::harness
