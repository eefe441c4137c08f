// Sampler: the part of a long list that is tried. Each item is drawn by a seed and by its own name
// alone, so that the same seed draws the same items, whatever else is in the list.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/explore/second_level.hpp"

namespace lastref::harness {

class Sampler {
 public:
  /// `part` is above 0, and at most 1, which draws all.
  Sampler(double part, std::uint64_t seed) noexcept : part_(part), seed_(seed) {}

  bool draws(std::string_view name) const noexcept;
  std::vector<Pair> draw_of(const std::vector<Pair>& pairs) const;

 private:
  double part_;
  std::uint64_t seed_;
};

}  // namespace lastref::harness
