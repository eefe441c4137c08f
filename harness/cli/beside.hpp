// Verbs that are programs of their own beside this one.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/verbs.hpp"

namespace lastref::harness {

/// Runs the program beside this one, with its exit code as ours; refuses in the verb's name if it
/// is not there, or does not come to an end by itself.
void run_beside(const std::string& verb,
                const std::string& program,
                std::vector<std::string> arguments,
                Invocation& invocation);

}  // namespace lastref::harness
