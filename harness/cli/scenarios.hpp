// Scenarios and faults as the command line names them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/cli/verbs.hpp"
#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

/// The names of the catalog.
std::vector<std::string> scenario_names();

/// The scenario of this name; none, and a refusal with the nearest names, if there is none.
const Scenario* find_scenario(const std::string& name, Session& session);

/// False, and a refusal, if there is no such ambient, or not here.
bool has_ambient(const std::string& name, Session& session);

/// False, and a refusal that says how a fault reads, if one of the texts is none.
bool parse_faults(std::span<const std::string> texts, std::vector<Fault>& into, Session& session);

}  // namespace lastref::harness
