// pool_options: which options of pools and tasks mean something.
#pragma once

#include <lastref/pool.hpp>

namespace lastref::backends {

/// The options, with limits that sums of times and counts do not exceed.
///
/// Errors          invalid_argument: an option that means nothing, by its name and value.
Result<TaskOptions> checked(TaskOptions options);
/// The same for all options of a pool.
Status check(const PoolOptions& options);

}  // namespace lastref::backends
