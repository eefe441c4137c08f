// roles: which role of a scenario a new process is in.
#include <algorithm>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

const Role* role_named(const Scenario& scenario, std::string_view name) noexcept {
  const auto found = std::ranges::find(scenario.roles, name, &Role::name);
  return found == scenario.roles.end() ? nullptr : &*found;
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
