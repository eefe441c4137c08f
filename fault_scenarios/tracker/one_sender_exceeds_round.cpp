#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// More than the tracker reads from one connection before it serves the others, and far more than a
/// socket holds.
constexpr int holds = 5000;

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource name{.type = ResourceType::noop, .name = "much held"};
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.client().register_name(name));
  for (int held = 0; held < holds; ++held) {
    LASTREF_CHECK(product.client().hold(name));
  }
  // Messages without space in the socket wait here, and are sent as the tracker reads.
  stage.stop("tracker");
  Status released;
  for (int held = 0; held < holds; ++held) {
    released = first_failure({released, product.client().release(name)});
  }
  stage.resume("tracker");
  const auto counts = product.client().counts();
  if (counts && (counts->size() != 1 || counts->front().count != 1)) {
    stage.refute("refcount-exact: every message of one sender counts",
                 std::to_string(counts->empty() ? 0 : counts->front().count) + " are left");
  }
  return first_failure({released, status_of(counts), product.client().release(name)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "One process sends more than the tracker reads from one sender in a round. Every count "
          "is exact.",
      .rows = {"T3", "T10"},
      .roles = {{"root", root}},
      .outside_matrix = "it tests size and has too many sites",
      .is_long = true,
  };
});

}  // namespace
}  // namespace lastref::harness
