#include "fault_scenarios/scenarios.hpp"

namespace lastref::harness {
namespace {

constexpr std::size_t names = 100000;

void root(Stage& stage) {
  if (!stage.lead() || !stage.start("client_a")) {
    return;
  }
  stage.await("a holds");
  const auto counts = stage.client().counts();
  if (!counts) {
    return;
  }
  if (counts->size() != names) {
    stage.refute("refcount-exact: counts tells every entry", std::to_string(counts->size()));
  }
  stage.kill("client_a");
  static_cast<void>(stage.client().probe());
  static_cast<void>(stage.client().probe());
  const auto after = stage.client().counts();
  if (after && !after->empty()) {
    stage.refute("refcount-exact: a dead process holds nothing", std::to_string(after->size()));
  }
}

void client_a(Stage& stage) {
  if (!stage.join()) {
    return;
  }
  for (std::size_t number = 0; number < names; ++number) {
    const Resource name{.type = ResourceType::noop, .name = "name " + std::to_string(number)};
    if (!stage.client().register_name(name)) {
      return;
    }
  }
  stage.tell("a holds");
  stage.await("never said");
}

}  // namespace

Scenario a_hundred_thousand_names() {
  return {
      .name = "scale/a_hundred_thousand_names",
      .sentence =
          "A hundred thousand names are registered, counted, and dropped with their "
          "holder.",
      .rows = {"T11", "T9"},
      .roles = {{"root", root}, {"client_a", client_a}},
      .kernel_only = true,
      .in_matrix = false,
  };
}

}  // namespace lastref::harness
