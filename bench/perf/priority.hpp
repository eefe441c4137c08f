// priority: what a measurement needs before it begins.
#pragma once

#include <cstdint>

namespace lastref::perf {

/// Gives this program and its children the highest priority, where that is allowed. On a busy
/// machine the times of a pair then differ less, and fewer pairs are needed. Other programs wait
/// meanwhile. False: it is not allowed, and nothing has changed.
bool be_first_in_line();

/// A new seed, short enough to be copied.
std::uint64_t new_seed();

}  // namespace lastref::perf
