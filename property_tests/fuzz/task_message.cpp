// task_message: the messages in the pipes between a parent and its workers.
#include <algorithm>

#include "impl/backends/codec.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

namespace codec = backends;

/// A dtype and a value of one byte each become some hundred bytes.
constexpr std::size_t each_byte = 1024;

Result<Array> rebuild(const Reduction& reduction) {
  if (const auto* value = std::get_if<ByValue>(&reduction)) {
    return value->elements;
  }
  return failure(std::errc::bad_message, "there are no files");
}

Result<Sent> reduce(const Array& array) {
  return Sent{.reduction = ByValue{.elements = array}};
}

template <typename Decode>
auto decoded(os::Bytes input, Decode decode) {
  const Allowance allowance(input.size(), each_byte);
  return decode(input, rebuild);
}

bool equal(const Batch& one, const Batch& other) {
  return std::ranges::equal(one, other, [](const Task& mine, const Task& theirs) {
    return mine.function == theirs.function && mine.arguments == theirs.arguments;
  });
}

void check_batch(os::Bytes input) {
  const auto batch = decoded(input, codec::decode_batch);
  if (!batch) {
    expect_refused(batch.error(), std::errc::bad_message, std::errc::value_too_large);
    return;
  }
  const auto sent = codec::encode_batch(*batch, reduce);
  expect(sent.has_value(), "a batch that was received can be sent");
  const auto again = codec::decode_batch(sent->bytes, rebuild);
  expect(again.has_value(), "a batch that was sent can be received");
  expect(equal(*again, *batch), "a batch arrives as it was sent");
}

void check_results(os::Bytes input) {
  const auto results = decoded(input, codec::decode_results);
  if (!results) {
    expect_refused(results.error(), std::errc::bad_message, std::errc::value_too_large);
    return;
  }
  const auto sent = codec::encode_results(*results, reduce);
  expect(sent.has_value(), "results that were received can be sent");
  const auto again = codec::decode_results(sent->bytes, rebuild);
  expect(again.has_value(), "results that were sent can be received");
  expect(*again == *results, "results arrive as they were sent");
}

void check_failure(os::Bytes input) {
  const auto failure = in_proportion(input, [&] { return codec::decode_failure(input); });
  if (!failure) {
    expect_refused(failure.error(), std::errc::bad_message);
    return;
  }
  const auto again = codec::decode_failure(codec::encode_failure(*failure));
  expect(again.has_value(), "a failure that was sent can be received");
  expect(*again == *failure, "a failure arrives as it was sent");
}

}  // namespace

void check(os::Bytes input) {
  check_batch(input);
  check_results(input);
  check_failure(input);
}

}  // namespace lastref::fuzz
