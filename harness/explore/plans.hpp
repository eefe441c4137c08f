// Plans: what to try beyond the matrix, and how to say a plan to a shell.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/explore/second_level.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// With so many kills each scenario runs in each ambient, and where everything is wanted with so
/// many.
inline constexpr std::size_t kills_in_ambient = 4;
inline constexpr std::size_t kills_in_ambient_of_all = 20;

/// What random plans for a scenario are drawn from.
struct RandomPool {
  std::span<const Fault> matrix;
  std::span<const Pair> pairs;  ///< of the second level
};

/// The plan of the random run `number`: a random order alone or with one or two faults, or two
/// faults in the clean order. Two are of the matrix, or a pair of the second level. The same
/// three arguments give the same plan.
Plan random_plan(std::uint64_t seed, std::uint64_t number, const RandomPool& pool);

/// So many different kills of the matrix, or all if there are no more; the same arguments give the
/// same ones. `salt` tells those apart who draw by the same seed.
std::vector<Fault> sample_of_kills(std::uint64_t seed,
                                   std::string_view salt,
                                   std::span<const Fault> matrix,
                                   std::size_t count);

/// The command that runs a plan again: "lastref replay NAME --fault 'TEXT' --choices 1.0.2 --seed
/// 7".
std::string replay_command(std::string_view scenario, const Plan& plan, std::string_view world);

/// An argument as a POSIX shell reads it back.
std::string quoted(std::string_view argument);

}  // namespace lastref::harness
