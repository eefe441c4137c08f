// Limits: the numbers that bound buffers, batches and attempts, as limits.def lists them.
//
// Code takes a limit from limits_of its Os. That is no part of the interface Os, because no user of
// the library sets a limit: only the harness runs processes with other than the usual ones. Where a
// limit is read in a loop, keep the reference, for the look-up casts.
#pragma once

#include <cstddef>
#include <cstdint>

#include <lastref/os.hpp>

namespace lastref::os {

struct Limits {
#define LASTREF_LIMIT(type, name, usual, small, meaning) type name = usual;
#include "impl/os/limits.def"
#undef LASTREF_LIMIT
};

inline constexpr Limits usual_limits = {};

/// An Os of a process that may have other limits than the usual ones.
class LimitedOs {
 public:
  LimitedOs() = default;
  LimitedOs(const LimitedOs&) = delete;
  LimitedOs& operator=(const LimitedOs&) = delete;
  /// They are the same, and at the same place, while the Os exists.
  virtual const Limits& limits() const noexcept = 0;

 protected:
  ~LimitedOs() = default;
};

inline const Limits& limits_of(const Os& os) noexcept {
  const auto* const limited = dynamic_cast<const LimitedOs*>(&os);
  return limited == nullptr ? usual_limits : limited->limits();
}

}  // namespace lastref::os
