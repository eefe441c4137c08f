// seconds_in_step: how long forked processes take that begin together.
#pragma once

#include <functional>
#include <optional>

namespace lastref::bench {

/// Each child prepares itself, waits for the others, and does its part; both are told which one it
/// is. From the first beginning to the last end; none if one of them failed or died.
std::optional<double> seconds_in_step(unsigned processes,
                                      const std::function<bool(unsigned)>& prepare,
                                      const std::function<bool(unsigned)>& act);

}  // namespace lastref::bench
