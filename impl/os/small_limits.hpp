// Small limits: the other values of limits.def, for worlds that reach the boundaries of limits.
//
// No source of the library includes it.
#pragma once

#include <array>
#include <string_view>

#include "impl/os/limits.hpp"

namespace lastref::os {

inline constexpr Limits small_limits = {
#define LASTREF_LIMIT(type, name, usual, small, meaning) .name = small,
#include "impl/os/limits.def"
#undef LASTREF_LIMIT
};

#define LASTREF_LIMIT(type, name, usual, small, meaning)        \
  static_assert(small_limits.name <= usual_limits.name, #name); \
  static_assert(small_limits.name >= type{1}, #name);
#include "impl/os/limits.def"
#undef LASTREF_LIMIT

/// A row of the table.
struct LimitRow {
  std::string_view name;
  std::string_view meaning;
  Limits alone;  ///< Only this one is small.
};

inline constexpr auto limit_rows = std::to_array<LimitRow>({
#define LASTREF_LIMIT(type, name_, usual, small, meaning_) \
  {.name = #name_, .meaning = meaning_, .alone = {.name_ = small}},
#include "impl/os/limits.def"
#undef LASTREF_LIMIT
});

}  // namespace lastref::os
