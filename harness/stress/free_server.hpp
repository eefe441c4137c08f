// free server: the other half of a StressWorld, in its own process and namespaces.
#pragma once

#include <string>

#include "harness/stress/stress_world.hpp"

namespace lastref::harness {

/// Reports what is missing, then answers plans until the stream ends. Does not return.
[[noreturn]] void serve_ungated_runs(int socket,
                                     const StressOptions& options,
                                     const std::string& missing);

std::string to_message(const StressPlan& plan);
StressPlan plan_in(const std::string& message);
std::string to_message(const StressOutcome& outcome);
StressOutcome outcome_in(const std::string& message);

}  // namespace lastref::harness
