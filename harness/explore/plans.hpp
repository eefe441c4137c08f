// Plans: plans beyond the matrix, and the command line of a plan.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/explore/second_level.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// The number of kills with which each scenario runs in each ambient, and the number for a full
/// campaign.
inline constexpr std::size_t kills_in_ambient = 4;
inline constexpr std::size_t kills_in_ambient_of_all = 20;

/// The faults from which random plans for a scenario are drawn.
struct RandomPool {
  std::span<const Fault> matrix;
  std::span<const Pair> pairs;  ///< of the second level
  std::shared_ptr<const RunEstimate> estimate = nullptr;
};

/// The plan of the random run `number`: a random order alone or with one or two faults, or two
/// faults in the clean order. Two faults are from the matrix, or a pair of the second level. The
/// same three arguments give the same plan.
Plan random_plan(std::uint64_t seed, std::uint64_t number, const RandomPool& pool);

/// That many different kills of the matrix, or all if there are fewer; the same arguments give the
/// same ones. `salt` distinguishes samples drawn by the same seed.
std::vector<Fault> sample_of_kills(std::uint64_t seed,
                                   std::string_view salt,
                                   std::span<const Fault> matrix,
                                   std::size_t count);

/// " --set workers=3 --set durable=yes".
std::string set_options(std::span<const ParameterValue> parameters);

/// The command that runs a plan again: "lastref replay NAME --set workers=3 --fault 'TEXT'
/// --choices 1.0.2 --seed 7".
std::string replay_command(std::string_view scenario, const Plan& plan, std::string_view world);

/// An argument, quoted for a POSIX shell.
std::string quoted(std::string_view argument);

}  // namespace lastref::harness
