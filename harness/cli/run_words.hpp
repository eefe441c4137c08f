// run_words: the command line of a run of a watched program.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/command_line.hpp"

namespace lastref::harness {

/// The arguments of lastref that ask for a run with these options, with these faults instead of
/// theirs; without destinations of reports.
std::vector<std::string> words_of(const RunVerbOptions& options,
                                  const std::vector<std::string>& faults);

/// The same as a line for a shell.
std::string command_of(const RunVerbOptions& options, const std::vector<std::string>& faults);

}  // namespace lastref::harness
