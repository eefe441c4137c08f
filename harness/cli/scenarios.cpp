#include "harness/cli/scenarios.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/cli/names.hpp"
#include "harness/explore/plans.hpp"
#include "harness/instrument/limits.hpp"
#include "harness/kernel/kernel_world.hpp"

namespace lastref::harness {

std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  for (const Scenario& scenario : catalog()) {
    names.push_back(scenario.name);
  }
  return names;
}

bool is_hunted(const Scenario& scenario) noexcept {
  return scenario.in_gate && !scenario.kernel_only && !scenario.is_long;
}

const Scenario* find_scenario(const std::string& name, Invocation& invocation) {
  const Scenario* const found = scenario_named(name);
  if (found == nullptr) {
    invocation.refuse(fmt::format("no scenario {}{}", name, suggestion(name, scenario_names())));
  }
  return found;
}

namespace {

/// Every parameter and value that one of them has.
std::vector<DeclaredParameter> parameters_of(std::span<const Scenario* const> scenarios) {
  std::vector<DeclaredParameter> all;
  for (const Scenario* const scenario : scenarios) {
    for (const DeclaredParameter& each : scenario->parameters) {
      const auto found = std::ranges::find(all, each.name, &DeclaredParameter::name);
      if (found == all.end()) {
        all.push_back(each);
        continue;
      }
      std::ranges::copy_if(each.values, std::back_inserter(found->values), [&](const auto& value) {
        return found->value_named(value.text) == nullptr;
      });
    }
  }
  return all;
}

}  // namespace

std::optional<ParameterValues> parse_set(const Scenario& scenario,
                                         std::span<const std::string> texts,
                                         Invocation& invocation) {
  std::vector<const Scenario*> one = {&scenario};
  return parse_set(one, texts, invocation);
}

std::optional<ParameterValues> parse_set(std::vector<const Scenario*>& scenarios,
                                         std::span<const std::string> texts,
                                         Invocation& invocation) {
  if (texts.empty()) {
    return ParameterValues();
  }
  auto values = parse_parameters(parameters_of(scenarios), texts);
  if (!values) {
    invocation.refuse("--set " + describe(values.error()));
    return std::nullopt;
  }
  std::erase_if(scenarios,
                [&](const Scenario* each) { return !has_all(each->parameters, *values); });
  if (scenarios.empty()) {
    invocation.refuse("no scenario has all of" + set_options(*values));
    return std::nullopt;
  }
  return *std::move(values);
}

bool has_ambient(const std::string& name, Invocation& invocation) {
  const Ambient* const found = ambient_named(name);
  if (found == nullptr) {
    std::vector<std::string> names;
    for (const Ambient& each : ambients()) {
      names.emplace_back(each.name);
    }
    invocation.refuse(fmt::format("no ambient {}; there are {}", name, fmt::join(names, ", ")));
    return false;
  }
  if (invocation.worlds.kind() != "kernel") {
    invocation.refuse(fmt::format("--ambient {} needs the kernel world", name));
    return false;
  }
  if (!is_possible(*found) || !invocation.worlds.degraded().empty()) {
    invocation.refuse(fmt::format("--ambient {} needs root and all of the kernel world", name));
    return false;
  }
  return true;
}

std::optional<std::vector<Fault>> parse_faults(std::span<const std::string> texts,
                                               Invocation& invocation) {
  if (texts.size() > faults_max) {
    invocation.refuse(fmt::format("a run has {} faults at most", faults_max));
    return std::nullopt;
  }
  std::vector<Fault> faults;
  for (const std::string& text : texts) {
    Result<Fault> fault = parse_fault(text);
    if (!fault) {
      invocation.refuse(fmt::format(
          "--fault {}. Example: 'tracker/unlink(a.bin)#1 fail_once EACCES'; lastref list --faults "
          "prints all kinds",
          fault.error().subject));
      return std::nullopt;
    }
    faults.push_back(*std::move(fault));
  }
  return faults;
}

std::vector<PolicyName> policies_named(std::span<const std::string> names) {
  std::vector<PolicyName> policies;
  for (const std::string& name : names) {
    policies.push_back(policy_named(name).value());
  }
  return policies;
}

}  // namespace lastref::harness
