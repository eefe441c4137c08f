// ungated judgement: what an ungated run shows by what it leaves, by crashes, and by what
// sanitizers and the scenario report. It has no records of calls.
#pragma once

#include <string>
#include <vector>

#include "harness/oracle/evidence.hpp"

namespace lastref::harness {

/// Without files that a killed process leaves and that nothing can attribute to it.
std::vector<std::string> without_accidents(std::vector<std::string> left);

/// With kills by the world, what the scenario itself refutes is not counted.
std::vector<Finding> findings_of_ungated(const Evidence& evidence, bool has_kills);

/// Sets up the sanitizers of the processes that this one executes. It must have one thread.
void set_up_sanitizers();

}  // namespace lastref::harness
