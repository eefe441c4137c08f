// nothing: tasks that do nothing, to measure the overhead of tasks.
#pragma once

#include <cstdint>

#include <lastref/parallel.hpp>

namespace lastref::bench {

/// Adds the function of these tasks.
void add_nothing(Functions& functions);

/// One call with `tasks` tasks.
Outcome<List> run_nothing(Parallel& parallel, std::int64_t tasks);

}  // namespace lastref::bench
