// growth: shared parts of scenarios that do the same many times: nothing may have grown after it.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

/// Checks, in an undisturbed run, that there is no more of it now.
void must_not_grow(Stage& stage, const char* what, std::uint64_t before, std::uint64_t now);

/// The memory use of a process at a moment.
struct Memory {
  std::optional<std::uint64_t> heap;  ///< bytes, where that is known
  std::uint64_t mapped = 0;           ///< bytes
};
Memory memory_of(Stage& stage);

/// bytes; the increase allowed to malloc and containers for the same contents. Far below the total
/// if each round of a scenario leaves a record.
inline constexpr std::uint64_t heap_slack = 4096;

/// Checks, in an undisturbed run, that a process has no more of it now.
void must_not_grow(Stage& stage,
                   const Memory& before,
                   const Memory& now,
                   std::uint64_t slack = heap_slack);

}  // namespace lastref::harness
