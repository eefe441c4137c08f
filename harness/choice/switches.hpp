// Switches: a schedule as its differences from the usual one.
//
// A switch names an actor and one of its own steps, not a place in the list of all answers. So it
// keeps its meaning when other switches are removed, and a schedule can be shrunk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lastref::harness {

/// An answer other than the usual one, or a pause.
struct Switch {
  enum class Kind : std::uint8_t {
    actor,  ///< Before step `step` of `from`, or where it cannot continue after it, `to` runs.
    /// From step `step` of `from` on, it runs only when no other can. A switch to it ends that.
    pause,
    other  ///< The `step`th question that is not about actors has the answer `to`.
  };
  Kind kind = Kind::actor;
  std::uint32_t from = 0;
  std::uint32_t step = 0;
  std::uint32_t to = 0;

  auto operator<=>(const Switch&) const = default;
};

using Switches = std::vector<Switch>;

}  // namespace lastref::harness
