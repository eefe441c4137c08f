// simulation: lawful histories, by a cache that answers at one moment of each operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>

#include "harness/history/history.hpp"

namespace lastref::pretend {

struct SimulationOptions {
  std::size_t operations = 8;
  std::uint64_t slots = 2;
  std::uint64_t values = 3;
  std::uint32_t actors = 3;
  std::uint64_t reach = 3;  ///< An interval begins and ends up to so many moments from its answer.
  /// One in so many operations never returns, and one in so many fails.
  std::uint32_t one_in_pending = 8;
  std::uint32_t one_in_failed = 8;
  /// One in so many freezes, or tries to. 0 is none.
  std::uint32_t one_in_freezes = 8;
  std::optional<harness::oracle::Refusals> refusals = {};  ///< Any, if it is not said.
};

harness::oracle::History simulate(const SimulationOptions& options, std::mt19937_64& chance);

/// One thing about one operation is different; what comes of it may be lawful all the same.
void mutate(harness::oracle::History& history, std::mt19937_64& chance);

}  // namespace lastref::pretend
