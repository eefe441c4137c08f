// turns: the order in which runnable actors are offered the turn, the same in every world.
#pragma once

#include <cstddef>

namespace lastref::harness {

/// Calls `offer` with the index of each of `count` actors that is `able`: the one after `current`
/// first and `current` itself last, or first if it `may_stay`. A paused actor is offered the turn
/// only when no other is.
template <typename Able, typename Paused, typename Offer>
void offer_turn(std::size_t current,
                std::size_t count,
                bool may_stay,
                const Able& able,
                const Paused& paused,
                const Offer& offer) {
  const std::size_t first = may_stay ? 0 : 1;
  bool any = false;
  for (const bool among_paused : {false, true}) {
    for (std::size_t step = first; step < count + first; ++step) {
      const std::size_t next = current + step;
      const std::size_t index = next < count ? next : next - count;
      if (paused(index) == among_paused && able(index)) {
        offer(index);
        any = true;
      }
    }
    if (any) {
      return;
    }
  }
}

}  // namespace lastref::harness
