// Points: the rows of the tables of calls and of steps, numbered together.
#pragma once

#include <bitset>
#include <cstddef>
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

}  // namespace lastref::harness
