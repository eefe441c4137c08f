#include "harness/scenario/scenario.hpp"

#include <algorithm>
#include <filesystem>

#include <lastref/temporary_resources.hpp>

#include "harness/program/arena.hpp"
#include "harness/scenario/product_limits.hpp"
#include "harness/scenario/registered_scenario.hpp"

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

constinit const RegisteredScenario* RegisteredScenario::last_ = nullptr;

Scenario RegisteredScenario::scenario() const {
  Scenario scenario = make_();
  if (scenario.name.empty()) {
    const std::filesystem::path file(file_);
    scenario.name = (file.parent_path().filename() / file.stem()).string();
  }
  return scenario;
}

const std::vector<Scenario>& catalog() {
  static const std::vector<Scenario> all = [] {
    std::vector<Scenario> scenarios;
    for (const auto* each = RegisteredScenario::last_; each != nullptr; each = each->next_) {
      scenarios.push_back(each->scenario());
      scenarios.back().parameters.push_back(declared_limits());
    }
    std::ranges::sort(scenarios, {}, &Scenario::name);
    return scenarios;
  }();
  return all;
}

const Scenario* scenario_named(std::string_view name) {
  const auto found = std::ranges::find(catalog(), name, &Scenario::name);
  return found == catalog().end() ? nullptr : &*found;
}

Status run_body(const Role& role, Stage& stage) {
  const AllocationScope scope(/*is_products=*/false);
  try {
    return role.body(stage);
  } catch (const Failure& access) {
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
