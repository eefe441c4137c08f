// reduction: the message that is sent in place of an array, and the options of reducers.
#include <lastref/reducers.hpp>
#include <lastref/reduction.hpp>

#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

bool equal(const Reduction& one, const Reduction& other) {
  if (one.index() != other.index()) {
    return false;
  }
  if (const auto* value = std::get_if<ByValue>(&one)) {
    const auto& others = std::get<ByValue>(other);
    return contents_equal(value->elements, others.elements) &&
           value->repeated_to == others.repeated_to;
  }
  if (const auto* view = std::get_if<StridedFromMemmap>(&one)) {
    return *view == std::get<StridedFromMemmap>(other);
  }
  return std::get<LoadTemporaryMemmap>(one) == std::get<LoadTemporaryMemmap>(other);
}

void check_reduction(os::Bytes input) {
  // A dtype is parsed from the same bytes: see there.
  const auto reduction = [&] {
    const Allowance allowance(input.size(), 1024);
    return decode_reduction(input);
  }();
  if (!reduction) {
    expect_refused(reduction.error(), std::errc::bad_message, std::errc::value_too_large);
    return;
  }
  const auto bytes = encode_reduction(*reduction);
  expect(bytes.has_value(), "what was received can be sent");
  const auto again = decode_reduction(*bytes);
  expect(again.has_value(), "what was sent can be received");
  expect(equal(*again, *reduction), "what was sent arrives");
}

void check_options(os::Bytes input) {
  const auto options = in_proportion(input, [&] { return decode_forward_options(input); });
  if (!options) {
    expect_refused(options.error(), std::errc::bad_message);
    return;
  }
  const auto again = decode_forward_options(encode_forward_options(*options).value());
  expect(again.has_value(), "options that were sent can be received");
  expect(*again == *options, "options arrive as they were sent");
}

}  // namespace

void check(os::Bytes input) {
  check_reduction(input);
  check_options(input);
}

}  // namespace lastref::fuzz
