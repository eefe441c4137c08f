// Share: what is tried of a list that is too long to try whole. Each of it is drawn by a seed and
// by its name alone, so that the same seed draws the same, whatever stands beside it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/explore/second_level.hpp"

namespace lastref::harness {

class Share {
 public:
  /// `part` is more than 0, and 1 at most, which draws all.
  Share(double part, std::uint64_t seed) noexcept : part_(part), seed_(seed) {}

  bool draws(std::string_view name) const noexcept;
  std::vector<Pair> draw_of(const std::vector<Pair>& pairs) const;

 private:
  double part_;
  std::uint64_t seed_;
};

}  // namespace lastref::harness
