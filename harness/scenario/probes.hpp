// Probes: the rows of the table of probes, as a set.
//
// Separate from the table, so that a new row causes little recompilation.
#pragma once

#include <bitset>
#include <cstddef>
#include <string>

namespace lastref::harness {

inline constexpr std::size_t probes_max = 128;

/// Bit i is row i of probes.def.
using ProbeSet = std::bitset<probes_max>;

/// "count_reached_three, register_waited", in the order of the table; "none".
std::string names_of(const ProbeSet& probes);

}  // namespace lastref::harness
