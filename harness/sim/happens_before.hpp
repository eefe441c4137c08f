// HappensBefore: a hash of the state that a run has come to, from which steps have met on which
// objects, and in which order.
//
// A step is all that an actor does between two questions. Two steps are ordered if their accesses
// to an object conflict; those of one process do. The order of all others does not matter: runs
// that differ only in it come to the same state, and get the same hash (Mazurkiewicz 1987;
// Musuvathi, Qadeer 2007).
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "harness/choice/footprint.hpp"

namespace lastref::harness::sim {

class HappensBefore {
 public:
  /// This actor has made a step with these accesses.
  void end_step(std::uint32_t actor, std::span<const ObjectAccess> accesses);

  /// Of all steps that have ended; not 0.
  std::uint64_t state() const noexcept { return sum_ | 1U; }

 private:
  /// The steps that have accessed an object. They form groups of which the steps commute; each step
  /// of a group conflicts with all of the group before it.
  struct Steps {
    Access access = Access::read;  ///< of the last group
    std::uint64_t before = 0;      ///< A hash of all groups before the last one
    std::uint64_t last = 0;        ///< The sum of the steps in the last group
  };

  std::unordered_map<std::uint64_t, Steps> objects_;
  std::uint64_t sum_ = 0;
};

}  // namespace lastref::harness::sim
