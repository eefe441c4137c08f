#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr int references = 3000;

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("many_times.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  for (int count = 1; count < references; ++count) {
    LASTREF_CHECK(product.client().hold(file));
  }
  LASTREF_CHECK(product.client().probe());
  stage.stop("tracker");
  Status released;
  for (int count = 0; count < references - 1; ++count) {
    released = first_failure({released, product.client().release(file)});
  }
  if (!stage.resume("tracker")) {
    stage.refute("T10: no release waits for a stopped tracker", "it had to continue first");
  }
  LASTREF_CHECK(product.client().probe());
  product.must_exist(file);
  const auto counts = product.client().counts();
  if (counts && (counts->size() != 1 || counts->front().count != 1)) {
    stage.refute("refcount-exact: every release counts", "not 1 left of " + to_text(file));
  }
  return first_failure({released, product.release(file)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "While the tracker is stopped, far more releases than a socket holds return at once. "
          "When it continues, all of them count.",
      .rows = {"T10"},
      .roles = {{"root", root}},
      .outside_matrix = "its backlog of thousands of messages has too many sites",
      .is_long = true,
  };
});

}  // namespace
}  // namespace lastref::harness
