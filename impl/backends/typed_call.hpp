// typed_call: the tasks that carry calls of typed functions.
#pragma once

#include <lastref/task.hpp>

namespace lastref::backends {

/// {group, shared arguments, arrays...}: keeps them for the tasks of the group.
inline constexpr const char* share_function = "lastref.share";
/// {group}
inline constexpr const char* forget_function = "lastref.forget";

}  // namespace lastref::backends
