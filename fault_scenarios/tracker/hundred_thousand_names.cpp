#include <algorithm>
#include <span>

#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr std::size_t names = 100000;

/// One process other than the root holds each name once.
void must_be_of_another(Stage& stage, std::span<const tracker::Count> counts) {
  const os::Pid holder = counts.empty() ? 0 : counts.front().holder;
  const bool is_right = std::ranges::all_of(counts, [&](const tracker::Count& each) {
    return each.holder == holder && each.count == 1 && each.resource.type == ResourceType::noop;
  });
  if (!is_right || holder == 0 || holder == stage.os().process_id()) {
    stage.refute("T11: counts reports name, type, holder and count of each entry",
                 "a holder " + std::to_string(holder) + ", or not one for all");
  }
}

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(stage.start("client_a"));
  stage.await("a holds");
  LASTREF_TRY(counts, product.client().counts());
  if (counts.size() != names) {
    stage.refute("refcount-exact: counts reports every entry", std::to_string(counts.size()));
  }
  must_be_of_another(stage, counts);
  stage.kill("client_a");
  const Status probed = product.client().probe();
  const Status probed_again = product.client().probe();
  const auto after = product.client().counts();
  if (after && !after->empty()) {
    stage.refute("refcount-exact: a dead process holds nothing", std::to_string(after->size()));
  }
  return first_failure({probed, probed_again});
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.join());
  for (std::size_t number = 0; number < names; ++number) {
    const Resource name{.type = ResourceType::noop, .name = "name " + std::to_string(number)};
    LASTREF_CHECK(product.client().register_name(name));
  }
  stage.tell("a holds");
  stage.stay_until_killed();
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A hundred thousand names are registered and counted, and released when their holder "
          "dies.",
      .rows = {"T11", "T9"},
      .roles = {{"root", root}, {"client_a", client_a}},
      .kernel_only = true,
      .outside_matrix = "it tests size and has too many sites",
  };
});

}  // namespace
}  // namespace lastref::harness
