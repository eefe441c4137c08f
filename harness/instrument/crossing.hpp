// crossing: the one way through the gate, for the methods of InstrumentedOs.
#pragma once

#include <utility>

#include "harness/instrument/instrumented_os.hpp"

namespace lastref::harness {

template <typename Act>
auto InstrumentedOs::cross(Call call, const Subject& subject, Act act) noexcept {
  using Answer = decltype(act(std::declval<Approach&>(), std::declval<const Passage&>()));
  Approach going = approach(call, subject);
  const Passage passage = gate_.before(going);
  const int error = failure_at(call, passage);
  Answer answer = error == 0 ? act(going, passage) : Answer(injected(call, error, subject));
  gate_.after(
      going, {.error = answer ? 0 : static_cast<int>(answer.error().code), .injected = error != 0});
  return answer;
}

template <typename Act>
auto InstrumentedOs::cross_surely(Call call, std::string_view object, Act act) noexcept {
  Approach going = approach(call, {.object = object});
  going.asks = false;
  gate_.before(going);
  // Rows of calls that cannot fail have no errno; the point is reached all the same.
  failure_at(call, {});
  auto answer = act();
  gate_.after(going, {});
  return answer;
}

}  // namespace lastref::harness
