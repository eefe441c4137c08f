#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

// Leaves a file that was never registered, and refutes a claim: a gate that accepts this accepts
// everything.
Status root(Stage& stage) {
  Product& product = stage.product();
  Status made = product.make(product.file("leaked.bin"));
  stage.refute("canary: this scenario holds", "it was made to fail");
  return made;
}

const RegisteredScenario registered([] {
  return Scenario{.sentence = "It fails without a fault, and the gate has to report it.",
                  .rows = {},
                  .roles = {{"root", root}},
                  .outside_matrix = "it fails without a fault",
                  .in_gate = false};
});

}  // namespace
}  // namespace lastref::harness
