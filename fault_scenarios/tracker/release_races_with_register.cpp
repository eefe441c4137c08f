#include "fault_scenarios/support/trees.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = resource_of(stage, "again.bin");
  LASTREF_CHECK(enter_tree(stage));
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  LASTREF_CHECK(stage.start("client_a"));
  stage.await("a has joined");
  stage.tell("go");
  Status released = product.release(file);
  stage.await("a is done");
  return released;
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  const Resource file = resource_of(stage, "again.bin");
  LASTREF_CHECK(product.join());
  stage.tell("a has joined");
  if (!stage.await("go")) {
    return ok();
  }
  LASTREF_CHECK(product.register_name(file));
  // Either the name never lost its last reference, or its file is cleaned up: nothing in between.
  const Status made = product.make(file);
  Status probed;
  if (made || made.error().code == std::errc::file_exists) {
    probed = product.client().probe();
    product.must_exist(file);
  }
  const Status released = product.release(file);
  stage.tell("a is done");
  return first_failure({probed, released});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "One process releases the last reference while another registers the same name again and "
          "makes the file. What it made stays until it releases it.",
      .rows = {"T3", "T9", "T10"},
      .roles = {{"root", root}, {"client_a", client_a}, {"leader", lead_tree}},
      .parameters = {name_type, tree_starter},
      .failing_operations = {"make"},
  };
});

}  // namespace
}  // namespace lastref::harness
