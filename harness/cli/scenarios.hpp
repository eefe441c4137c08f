// Scenarios and faults as named on the command line.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/cli/verbs.hpp"
#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

/// The names of the catalog.
std::vector<std::string> scenario_names();

/// The scenario of this name; null, and a refusal with the nearest names, if there is none.
const Scenario* find_scenario(const std::string& name, Invocation& invocation);

/// False, and a refusal, if there is no such ambient, or not on this machine.
bool has_ambient(const std::string& name, Invocation& invocation);

/// Empty, and a refusal, if there are too many for one run, or one of the texts is no fault: the
/// refusal then explains the format of a fault.
std::optional<std::vector<Fault>> parse_faults(std::span<const std::string> texts,
                                               Invocation& invocation);

}  // namespace lastref::harness
