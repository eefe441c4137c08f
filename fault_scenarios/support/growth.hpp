// growth: what scenarios have in common that do the same many times: nothing may be more after it.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

/// Refutes, where nothing has struck, that there is no more of it now.
void must_not_grow(Stage& stage, const char* what, std::uint64_t before, std::uint64_t now);

/// What a process has of memory at a moment.
struct Memory {
  std::optional<std::uint64_t> heap;  ///< bytes, where that can be told
  std::uint64_t mapped = 0;           ///< bytes
};
Memory memory_of(Stage& stage);

/// bytes; what malloc and containers may have more of for the same contents. Far below what a
/// scenario's rounds come to if each leaves a record.
inline constexpr std::uint64_t heap_slack = 4096;

/// Refutes, where nothing has struck, that a process has no more of it now.
void must_not_grow(Stage& stage,
                   const Memory& before,
                   const Memory& now,
                   std::uint64_t slack = heap_slack);

}  // namespace lastref::harness
