// typed_call: the tasks that carry calls of typed functions.
#pragma once

#include <string_view>

#include <lastref/task.hpp>

namespace lastref::backends {

/// {group, shared arguments, arrays...}: keeps them for the tasks of the group.
inline constexpr const char* share_function = "lastref.share";
/// {group}
inline constexpr const char* forget_function = "lastref.forget";

/// The error of a call of a function that this process does not have. Its name may be the id of a
/// TypedFunction.
Error about_unknown(std::string_view id);

}  // namespace lastref::backends
