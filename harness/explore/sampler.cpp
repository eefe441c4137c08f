#include "harness/explore/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "harness/choice/choices.hpp"
#include "harness/platform/hash.hpp"

namespace lastref::harness {
namespace {

constexpr int bits_of_a_draw = 53;  ///< A double holds that many exactly.

}  // namespace

bool Sampler::draws(std::string_view name) const noexcept {
  std::uint64_t chance = hash_of(name) ^ seed_;
  next_random(chance);
  const std::uint64_t draw = next_random(chance) >> (64 - bits_of_a_draw);
  return std::ldexp(static_cast<double>(draw), -bits_of_a_draw) < part_;
}

std::vector<Pair> Sampler::draw_of(const std::vector<Pair>& pairs) const {
  std::vector<Pair> drawn;
  std::ranges::copy_if(pairs, std::back_inserter(drawn), [this](const Pair& each) {
    return draws(fmt::format("{} {} {}", each.scenario, to_text(each.first), to_text(each.second)));
  });
  return drawn;
}

}  // namespace lastref::harness
