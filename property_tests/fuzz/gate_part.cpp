// gate_part: the file in the folder of `gate --output`, with any contents.
#include "harness/explore/gate_part.hpp"

#include <string>
#include <utility>

#include "harness/explore/gate_merge.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {

void check(os::Bytes input) {
  auto read = harness::parse_gate_part(text_of(input));
  if (!read) {
    expect(read.error().code == std::errc::bad_message, "it is damaged");
    expect(!read.error().subject.empty(), "what is refused is refused with a reason");
    return;
  }
  const std::string text = harness::to_text(*read);
  const auto again = harness::parse_gate_part(text);
  expect(again.has_value(), "what was written is a part");
  expect(harness::to_text(*again) == text, "and the same");
  const bool is_whole = read->shard.all == 1;
  const auto merged = harness::merge_parts({{.name = "part", .part = *std::move(read)}});
  expect(merged.has_value() == is_whole, "one part is a gate if it is the only one");
}

}  // namespace lastref::fuzz
