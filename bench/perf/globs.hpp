// Globs: patterns that select benchmarks.
#pragma once

#include <string>
#include <vector>

namespace lastref::perf {

/// Shell patterns (fnmatch(3)) for whole names; '*' also matches '/'.
using Globs = std::vector<std::string>;

/// Whether a pattern matches, or there are no patterns.
bool match(const Globs& globs, const std::string& name);

/// A message for the user, with patterns that match a part of a name.
std::string no_benchmark_matches(const Globs& globs);

/// A glob that matches this name only.
std::string glob_for(const std::string& name);

}  // namespace lastref::perf
