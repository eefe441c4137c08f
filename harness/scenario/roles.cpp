// roles: finds the role of a new process.
#include <algorithm>

#include <lastref/temporary_resources.hpp>

#include "harness/program/arena.hpp"
#include "harness/scenario/scenario.hpp"

namespace lastref::harness {
namespace {

Status start_again(Stage& stage) {
  return stage.product().operation("sweep",
                                   [&] { return status_of(lastref::sweep(stage.os(), {})); });
}

const Role& next_start() {
  static const Role role = {.name = next_start_role, .body = start_again};
  return role;
}

}  // namespace

Status run_body(const Role& role, Stage& stage) {
  const AllocationScope scope(/*is_products=*/false);
  try {
    return role.body(stage);
  } catch (const tl::bad_expected_access<Error>& access) {
    return failure(access.error());
  }
}

const Role* role_named(const Scenario& scenario, std::string_view name) noexcept {
  const auto found = std::ranges::find(scenario.roles, name, &Role::name);
  if (found != scenario.roles.end()) {
    return &*found;
  }
  return name == next_start_role ? &next_start() : nullptr;
}

const Role* role_started_as(const Scenario& scenario,
                            const std::string& entry,
                            std::span<const std::string> arguments) {
  if (!arguments.empty()) {
    if (const Role* one = role_named(scenario, entry + '_' + arguments.back()); one != nullptr) {
      return one;
    }
  }
  return role_named(scenario, entry);
}

}  // namespace lastref::harness
