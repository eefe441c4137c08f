// seconds_in_parallel: measures how long forked processes take that begin together.
#pragma once

#include <functional>
#include <optional>

namespace lastref::bench {

/// Each child calls `prepare`, waits for the others, and calls `act`; both get its index. Returns
/// the time from the first begin to the last end; nothing if a child failed or died.
std::optional<double> seconds_in_parallel(unsigned processes,
                                          const std::function<bool(unsigned)>& prepare,
                                          const std::function<bool(unsigned)>& act);

}  // namespace lastref::bench
