// Looks: where the time of a program goes, by looking at /proc again and again: for machines whose
// kernel permits nothing better. proc(5)
#pragma once

#include <string>
#include <vector>

#include <lastref/error.hpp>

namespace lastref::perf {

/// Runs a program to its end, looks at it and at all that it starts a thousand times a second, and
/// prints what each of them was seen to do. Its status, as wait(2) has it.
Result<int> profile_by_looks(const std::vector<std::string>& command);

}  // namespace lastref::perf
