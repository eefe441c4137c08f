// Globs: which benchmarks are meant.
#pragma once

#include <string>
#include <vector>

namespace lastref::perf {

/// Patterns as shells have them (fnmatch(3)), for whole names; '*' matches '/' as well.
using Globs = std::vector<std::string>;

/// Whether one of them matches, or there is none.
bool match(const Globs& globs, const std::string& name);

/// For people: who would have liked a part of a name is told how to write that.
std::string no_benchmark_matches(const Globs& globs);

/// A glob that nothing but the name matches.
std::string glob_for(const std::string& name);

}  // namespace lastref::perf
