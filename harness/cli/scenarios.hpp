// Scenarios and faults as named on the command line.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/choice/schedule_policy.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

/// The names of the catalog.
std::vector<std::string> scenario_names();

/// Whether hunts take it that do not name it.
bool is_hunted(const Scenario& scenario) noexcept;

/// The scenario of this name; null, and a refusal with the nearest names, if there is none.
const Scenario* find_scenario(const std::string& name, Invocation& invocation);

/// Empty, and a refusal that lists what there is, if the scenario has no such parameter or value.
std::optional<ParameterValues> parse_set(const Scenario& scenario,
                                         std::span<const std::string> texts,
                                         Invocation& invocation);

/// The same for several scenarios. Removes those that do not have all of these parameters and
/// values.
std::optional<ParameterValues> parse_set(std::vector<const Scenario*>& scenarios,
                                         std::span<const std::string> texts,
                                         Invocation& invocation);

/// False, and a refusal, if there is no such ambient, or not on this machine.
bool has_ambient(const std::string& name, Invocation& invocation);

/// Empty, and a refusal, if there are too many for one run, or one of the texts is no fault: the
/// refusal then explains the format of a fault.
std::optional<std::vector<Fault>> parse_faults(std::span<const std::string> texts,
                                               Invocation& invocation);

/// The policies of these names. The command line refuses others.
std::vector<PolicyName> policies_named(std::span<const std::string> names);

}  // namespace lastref::harness
