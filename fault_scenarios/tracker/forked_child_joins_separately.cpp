#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("of_the_parent.bin");
  const Resource other = product.file("of_the_child.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  stage.fork_stranger([&] {
    // The child does not hold the second name: that is reported, and harmless.
    Status done = first_failure({product.register_name(other),
                                 product.release(file),
                                 product.release(other),
                                 product.client().probe()});
    stage.tell("the child is done");
    return done;
  });
  stage.await("the child is done");
  const Status probed = product.client().probe();
  product.must_exist(file);
  return first_failure({probed, product.release(file)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A forked child that uses the inherited client joins as a process of its own. Its end "
          "releases nothing of its parent.",
      .rows = {"T8"},
      .roles = {{"root", root}},
      .expected_noise = {"releases a name that it does not hold: file:"},
      .kernel_only = true,
  };
});

}  // namespace
}  // namespace lastref::harness
