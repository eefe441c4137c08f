#include "harness/cli/scenarios.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/cli/names.hpp"
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

const Scenario* find_scenario(const std::string& name, Invocation& invocation) {
  const Scenario* const found = scenario_named(name);
  if (found == nullptr) {
    invocation.refuse(fmt::format("no scenario {}{}", name, suggestion(name, scenario_names())));
  }
  return found;
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

}  // namespace lastref::harness
