// nothing: tasks that do nothing; what is around them is what is measured.
#pragma once

#include <cstdint>

#include <lastref/parallel.hpp>

namespace lastref::bench {

/// Adds the function of these tasks.
void add_nothing(Functions& functions);

/// One call of so many.
Outcome<List> run_nothing(Parallel& parallel, std::int64_t tasks);

}  // namespace lastref::bench
