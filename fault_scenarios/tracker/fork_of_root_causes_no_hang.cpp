#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("of_the_tree.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  LASTREF_CHECK(stage.start("client_a"));
  stage.await("a holds");
  // The copy has the socket on which the tree's tracker would listen.
  stage.fork_stranger([&stage] {
    stage.tell("the fork runs");
    stage.await("fork, go");
    return ok();
  });
  stage.stay_until_killed();
  return ok();
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("of_the_tree.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(product.hold(file));
  stage.tell("a holds");
  if (!stage.await("the fork runs")) {
    return ok();
  }
  stage.kill("root");
  stage.kill("tracker");
  if (product.client().probe()) {
    stage.refute("error-surfaced: a tree without root and tracker is an error", "probe succeeded");
  }
  stage.tell("fork, go");
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Root and tracker are killed, and a fork of the root still has their socket. The other "
          "processes get errors and do not hang.",
      .rows = {"T8", "T6"},
      .roles = {{"root", root}, {"client_a", client_a}},
      .kernel_only = true,
  };
});

}  // namespace
}  // namespace lastref::harness
