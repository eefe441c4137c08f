// Scenarios and faults as the command line names them.
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

/// The scenario of this name; none, and a refusal with the nearest names, if there is none.
const Scenario* find_scenario(const std::string& name, Invocation& invocation);

/// False, and a refusal, if there is no such ambient, or not here.
bool has_ambient(const std::string& name, Invocation& invocation);

/// None, and a refusal, if there are too many for one run, or one of the texts is no fault: then it
/// says how a fault reads.
std::optional<std::vector<Fault>> parse_faults(std::span<const std::string> texts,
                                               Invocation& invocation);

}  // namespace lastref::harness
