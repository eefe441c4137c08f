// Points and probes: the rows of the tables of calls and of steps, numbered together, and those of
// the table of probes, as sets.
//
// probes.def is not included here, so that a new probe causes little recompilation.
#pragma once

#include <bitset>
#include <cstddef>
#include <string>
#include <string_view>

#include <lastref/call.hpp>

namespace lastref::harness {

inline constexpr std::size_t points_max = 128;

/// Bit i is row i: calls first, then steps, each in the order of its table.
using PointSet = std::bitset<points_max>;

/// How many rows there are.
std::size_t number_of_points() noexcept;
/// The row of a call, or, where `call` is none, of the step of that name. points_max if there is no
/// such row.
std::size_t point_of(Call call, std::string_view step) noexcept;
/// The row with `name` as its method or name; points_max if there is none.
std::size_t point_named(std::string_view name) noexcept;
/// The method of a call, or the name of a step.
std::string_view name_of_point(std::size_t point) noexcept;

inline constexpr std::size_t probes_max = 128;

/// Bit i is row i of probes.def.
using ProbeSet = std::bitset<probes_max>;

/// "count_reached_three, register_waited", in the order of the table; "none".
std::string names_of(const ProbeSet& probes);

}  // namespace lastref::harness
