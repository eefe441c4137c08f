// product_limits: the limits of the library in the processes of a run.
//
// Every scenario of the catalog has the parameter "limits": a run has the usual limits of
// impl/os/limits.def, or the small ones. Its bodies do not read it; the world gives each process
// its limits.
#pragma once

#include <span>
#include <string_view>

#include "harness/scenario/parameter.hpp"
#include "impl/os/limits.hpp"

namespace lastref::harness {

inline constexpr std::string_view limits_parameter = "limits";
/// As --set takes it.
inline constexpr std::string_view small_limits_set = "limits=small";

DeclaredParameter declared_limits();

/// The limits of a run with these values. "limits" may also be the name of a row of limits.def:
/// then only that limit is small.
const os::Limits& limits_in(std::span<const ParameterValue> parameters) noexcept;

}  // namespace lastref::harness
