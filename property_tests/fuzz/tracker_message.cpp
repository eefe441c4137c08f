// tracker_message: packets of the native protocol.
#include <algorithm>

#include "impl/tracker/codec.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

bool is_possible(const tracker::MessageEntry& entry) {
  return check_name(entry.resource).has_value() && entry.count > 0 &&
         entry.count <= tracker::count_max;
}

}  // namespace

void check(os::Bytes input) {
  const auto message = in_proportion(input, [&] { return tracker::decode_message(input); });
  if (!message) {
    expect_refused(message.error(), std::errc::bad_message);
    return;
  }
  expect(std::ranges::all_of(message->entries, is_possible), "entries can be");
  expect(std::ranges::equal(tracker::encode_message(*message), input),
         "no two packets mean the same");
  const auto packets = tracker::encode_split(*message);
  expect(packets.size() == 1, "what came in one packet fits into one");
}

}  // namespace lastref::fuzz
