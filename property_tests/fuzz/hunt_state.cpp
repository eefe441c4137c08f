// hunt_state: the file of `hunt --resume`, with any contents.
#include "harness/explore/hunt_state.hpp"

#include <string>

#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {

void check(os::Bytes input) {
  const auto read = harness::parse_hunt_state(text_of(input));
  if (!read) {
    expect(read.error() != harness::HuntStateError::other_hunt, "it may be of any hunt");
    return;
  }
  expect(read->turn < read->scenarios.size(), "a scenario has its turn");
  expect(read->results.scenarios.size() == read->scenarios.size(), "each has a row");
  for (const auto& each : read->under_way) {
    expect(each.scenario < read->scenarios.size(), "a run is of a scenario");
  }
  const std::string text = harness::to_text(*read);
  const auto again = harness::parse_hunt_state(text);
  expect(again.has_value(), "what was written is a state");
  expect(harness::to_text(*again) == text, "and the same");
  const auto other = harness::parse_hunt_state(text, {});
  expect(!other, "it is of no hunt without scenarios");
}

}  // namespace lastref::fuzz
