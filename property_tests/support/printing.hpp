// printing: how a failed test shows what the harness found.
#pragma once

#include <ostream>

#include "harness/scenario/world.hpp"

namespace lastref::harness {

inline void PrintTo(const Finding& finding, std::ostream* out) {
  *out << finding.claim << ": " << finding.seen;
}

inline void PrintTo(const Crossing& crossing, std::ostream* out) {
  *out << to_text(crossing);
}

inline void PrintTo(const Site& site, std::ostream* out) {
  *out << to_text(site);
}

}  // namespace lastref::harness
