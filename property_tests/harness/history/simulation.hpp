// simulation: lawful histories, of a cache that answers at one moment of each operation.
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
  std::uint64_t reach = 3;  ///< An interval begins and ends within so many moments of its answer.
  /// One in this many operations never returns, and one in this many fails.
  std::uint32_t one_in_pending = 8;
  std::uint32_t one_in_failed = 8;
  /// One in this many freezes, or tries to. 0: none does.
  std::uint32_t one_in_freezes = 8;
  std::optional<harness::oracle::Refusals> refusals = {};  ///< Any, if empty.
};

harness::oracle::History simulate(const SimulationOptions& options, std::mt19937_64& chance);

/// Changes one thing about one operation; the result may still be lawful.
void mutate(harness::oracle::History& history, std::mt19937_64& chance);

}  // namespace lastref::pretend
