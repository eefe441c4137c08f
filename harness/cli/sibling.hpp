// Verbs that are separate programs in the same folder.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/cli/verbs.hpp"

namespace lastref::harness {

/// Runs the program in our folder, with its exit code as ours. Refuses in the name of the verb if
/// it is not there, or does not end by itself.
void run_sibling(const std::string& verb,
                 const std::string& program,
                 std::vector<std::string> arguments,
                 Invocation& invocation);

/// Becomes the host of a pool's worker. Returns the exit code if that fails.
int become_worker(std::span<const char* const> arguments);

}  // namespace lastref::harness
