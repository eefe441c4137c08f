// Looks: profiles a program by sampling /proc, for kernels that permit nothing better. proc(5)
#pragma once

#include <string>
#include <vector>

#include <lastref/error.hpp>

namespace lastref::perf {

/// Runs a program to its end, samples it and all its descendants a thousand times per second, and
/// prints what each of them did. Returns its status, as wait(2) does.
Result<int> profile_by_looks(const std::vector<std::string>& command);

}  // namespace lastref::perf
