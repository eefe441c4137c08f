#include "harness/explore/share.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "harness/choice/choices.hpp"
#include "harness/platform/hash.hpp"

namespace lastref::harness {
namespace {

constexpr int bits_of_a_lot = 53;  ///< A double holds that many exactly.

}  // namespace

bool Share::draws(std::string_view name) const noexcept {
  std::uint64_t chance = hash_of(name) ^ seed_;
  next_random(chance);
  const std::uint64_t lot = next_random(chance) >> (64 - bits_of_a_lot);
  return std::ldexp(static_cast<double>(lot), -bits_of_a_lot) < part_;
}

std::vector<Pair> Share::draw_of(const std::vector<Pair>& pairs) const {
  std::vector<Pair> drawn;
  std::ranges::copy_if(pairs, std::back_inserter(drawn), [this](const Pair& each) {
    return draws(fmt::format("{} {} {}", each.scenario, to_text(each.first), to_text(each.second)));
  });
  return drawn;
}

}  // namespace lastref::harness
