// codec_test: batches, results and failures arrive as they were sent. Foreign bytes decode to a
// value or an error.
#include "impl/backends/codec.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "property_tests/impl/backends/fixture.hpp"
#include "property_tests/impl/reducers/send_fixture.hpp"
#include "property_tests/support/array_generators.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref {
namespace {

using backends::decode_batch;
using backends::decode_failure;
using backends::decode_results;
using backends::depth_max;
using backends::encode_batch;
using backends::encode_failure;
using backends::encode_results;
using os::Packed;
using pretend::must;

Result<Sent> by_value(const Array& array) {
  return Sent{.reduction = ByValue{.elements = must(array.copy())}};
}
Result<Array> from_value(const Reduction& reduction) {
  const auto* value = std::get_if<ByValue>(&reduction);
  return value == nullptr ? Result<Array>(failure(std::errc::bad_message, "no value"))
                          : value->elements;
}

std::string any_text() {
  return *rc::gen::element<std::string>("", "a", "caf\xc3\xa9", std::string(3, '\0'), "a\nb") +
         *rc::gen::string<std::string>();
}

Value any_value(int depth) {
  switch (*rc::gen::inRange(0, depth == 0 ? 7 : 9)) {
    case 0:
      return {};
    case 1:
      return *rc::gen::arbitrary<bool>();
    case 2:
      return *rc::gen::oneOf(rc::gen::arbitrary<std::int64_t>(),
                             rc::gen::element(std::numeric_limits<std::int64_t>::min(),
                                              std::numeric_limits<std::int64_t>::max()));
    case 3:
      return *rc::gen::oneOf(rc::gen::arbitrary<double>(),
                             rc::gen::element(-0.0,
                                              std::numeric_limits<double>::quiet_NaN(),
                                              std::numeric_limits<double>::infinity(),
                                              std::numeric_limits<double>::denorm_min()));
    case 4:
      return any_text();
    case 5: {
      const std::string text = any_text();
      const os::Bytes bytes = os::bytes_of(text);
      return ByteString(bytes.begin(), bytes.end());
    }
    case 6:
      return pretend::any_array(pretend::dtype_of(*pretend::any_dtype_text()));
    case 7: {
      List list;
      for (int count = *rc::gen::inRange(0, 4); count > 0; --count) {
        list.push_back(any_value(depth - 1));
      }
      return list;
    }
    default: {
      Map map;
      for (int count = *rc::gen::inRange(0, 4); count > 0; --count) {
        map.insert_or_assign(any_text(), any_value(depth - 1));
      }
      return map;
    }
  }
}

List any_list(int depth = 3) {
  List list;
  for (int count = *rc::gen::inRange(0, 4); count > 0; --count) {
    list.push_back(any_value(depth));
  }
  return list;
}

Batch any_batch() {
  Batch batch;
  for (int count = *rc::gen::inRange(0, 4); count > 0; --count) {
    batch.push_back({*rc::gen::element<std::string>("", "one", "two", "three"), any_list(2)});
  }
  return batch;
}

TaskFailure any_failure() {
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return Error{.code = static_cast<std::errc>(*rc::gen::arbitrary<int>()),
                   .call = *rc::gen::element(Call::none, Call::open, call_rows().back().call),
                   .subject = any_text()};
    case 1:
      return TransportableException{.type = any_text(), .message = any_text(), .where = any_text()};
    case 2:
      return WorkerInterrupt{.where = any_text()};
    default:
      return TerminatedWorker{
          .pid = *rc::gen::arbitrary<os::Pid>(),
          .exit = *rc::gen::element<std::optional<os::ChildExit>>(
              std::nullopt, os::ChildExit{.code = 9, .killed = true}, os::ChildExit{.code = 3}),
          .task = any_text(),
          .reason = any_text()};
  }
}

bool alike(const Batch& one, const Batch& other) {
  return std::ranges::equal(one, other, [](const Task& left, const Task& right) {
    return left.function == right.function && left.arguments == right.arguments;
  });
}

RC_GTEST_PROP(CodecProperties, results_arrive_as_they_were_B5, ()) {
  const List list = any_list();
  const auto back = must(decode_results(must(encode_results(list, by_value)).bytes, from_value));
  RC_ASSERT(Value(back) == Value(list));
}

RC_GTEST_PROP(CodecProperties, batches_arrive_as_they_were_B5, ()) {
  const Batch batch = any_batch();
  RC_ASSERT(
      alike(must(decode_batch(must(encode_batch(batch, by_value)).bytes, from_value)), batch));
}

RC_GTEST_PROP(CodecProperties, failures_arrive_as_they_were_B7, ()) {
  const TaskFailure failure = any_failure();
  RC_ASSERT(must(decode_failure(encode_failure(failure))) == failure);
}

/// Every proper prefix is an error; with any byte changed, the result is an error or a value.
template <typename Decode>
void maltreat(const Packed& bytes, Decode decode) {
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    RC_ASSERT(!decode(os::Bytes(bytes).first(size)).has_value());
  }
  Packed longer = bytes;
  longer.push_back(std::byte{0});
  RC_ASSERT(!decode(longer).has_value());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    Packed changed = bytes;
    for (const int by : {1, 0x80, *rc::gen::inRange(1, 256)}) {
      changed[at] = bytes[at] ^ static_cast<std::byte>(by);
      if (const auto taken = decode(changed); !taken) {
        RC_ASSERT(taken.error().code != std::errc{});
      }
    }
  }
}

RC_GTEST_PROP(CodecProperties, a_strangers_results_are_refused_or_taken_B5, ()) {
  maltreat(must(encode_results(any_list(1), by_value)).bytes,
           [](os::Bytes bytes) { return decode_results(bytes, from_value); });
}

RC_GTEST_PROP(CodecProperties, a_strangers_batch_is_refused_or_taken_B5, ()) {
  maltreat(must(encode_batch(any_batch(), by_value)).bytes,
           [](os::Bytes bytes) { return decode_batch(bytes, from_value); });
}

RC_GTEST_PROP(CodecProperties, a_strangers_failure_is_refused_or_taken_and_told_B7, ()) {
  maltreat(encode_failure(any_failure()), [](os::Bytes bytes) {
    auto failure = decode_failure(bytes);
    if (failure) {
      RC_ASSERT(!describe(*failure).empty());
    }
    return failure;
  });
}

RC_GTEST_PROP(CodecProperties, any_bytes_are_refused_or_taken_B5, ()) {
  Packed bytes;
  for (const auto each : *rc::gen::arbitrary<std::vector<std::uint8_t>>()) {
    bytes.push_back(static_cast<std::byte>(each % 16));
  }
  static_cast<void>(decode_results(bytes, from_value));
  static_cast<void>(decode_batch(bytes, from_value));
  static_cast<void>(decode_failure(bytes));
}

Value nested(std::size_t depth, bool maps) {
  Value value = 1;
  for (std::size_t at = 0; at < depth; ++at) {
    value =
        maps && at % 2 == 0 ? Value(Map{{"in", std::move(value)}}) : Value(List{std::move(value)});
  }
  return value;
}

TEST(Codec, lists_in_lists_go_so_deep_and_no_deeper_B5) {
  for (const bool maps : {false, true}) {
    const List deepest = {nested(depth_max, maps)};
    const auto bytes = must(encode_results(deepest, by_value)).bytes;
    EXPECT_EQ(must(decode_results(bytes, from_value)), deepest);
    EXPECT_EQ(encode_results(List{nested(depth_max + 1, maps)}, by_value).error().code,
              std::errc::value_too_large);
    EXPECT_EQ(encode_batch(Batch{{"f", {nested(depth_max + 1, maps)}}}, by_value).error().code,
              std::errc::value_too_large);
  }
}

TEST(Codec, a_stranger_who_goes_deeper_is_refused_B5) {
  // No arrays, and one list of one list of ...
  Packed bytes;
  os::put(bytes, std::uint64_t{0});
  os::put(bytes, std::uint64_t{1});
  const auto list = static_cast<std::uint8_t>(Value(List()).content().index());
  for (int depth = 0; depth < 1'000'000; ++depth) {
    os::put(bytes, list);
    os::put(bytes, std::uint64_t{1});
  }
  os::put(bytes, std::uint8_t{0});
  EXPECT_EQ(decode_results(bytes, from_value).error().code, std::errc::bad_message);
}

TEST(Codec, names_of_functions_are_so_long_and_no_longer_B5) {
  const std::string longest(function_name_size_max, 'x');
  Packed bytes = must(encode_batch(Batch{{longest, {}}}, by_value)).bytes;
  EXPECT_EQ(must(decode_batch(bytes, from_value)).front().function, longest);
  EXPECT_EQ(encode_batch(Batch{{longest + 'x', {}}}, by_value).error().code,
            std::errc::function_not_supported);
  // The size of the first name is the second number.
  bytes.insert(bytes.begin() + 16, std::byte{'x'});
  bytes[8] |= std::byte{1};
  const auto stranger = decode_batch(bytes, from_value);
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().code, std::errc::bad_message);
  pretend::expect_transcript(stranger.error().subject);
}

TEST(Codec, what_many_tasks_share_is_reduced_and_rebuilt_once_B5) {
  const Array shared = pretend::array_of(10);
  const Array other = pretend::array_of(10);  // Equal contents, but another array.
  const Batch batch(20, Task{"f", {shared, List{shared, Map{{"x", shared}}}, other}});
  int reduced = 0;
  const auto encoded = must(encode_batch(batch, [&](const Array& array) {
    ++reduced;
    return by_value(array);
  }));
  EXPECT_EQ(reduced, 2);
  int rebuilt = 0;
  const Batch back = must(decode_batch(encoded.bytes, [&](const Reduction& reduction) {
    ++rebuilt;
    return from_value(reduction);
  }));
  EXPECT_EQ(rebuilt, 2);
  EXPECT_TRUE(alike(back, batch));
  EXPECT_TRUE(
      back.front().arguments[0].get_if<Array>()->is(*back.back().arguments[0].get_if<Array>()));
}

TEST(Codec, nothing_is_on_its_way_if_something_cannot_be_sent_B5) {
  pretend::SendFixture fixture;
  const Array mapped = pretend::patterned(1000);
  const Array objects = must(Array::zeros(pretend::dtype_of("|O"), {2}));
  const auto reduce = [&](const Array& array) { return fixture.forward->reduce(array); };
  {
    const auto sent = must(encode_results(List{mapped}, reduce));
    ASSERT_EQ(sent.sent.size(), 1U);
    EXPECT_EQ(fixture.counts.names(ResourceType::file).size(), 1U);
  }
  const std::string path = fixture.counts.names(ResourceType::file).at(0);
  const std::size_t kept = fixture.counts.of(path);
  const List unsendable[] = {{mapped, objects},
                             {mapped, nested(depth_max + 1, false)},
                             {List{mapped, Map{{"x", objects}}}}};
  for (const List& list : unsendable) {
    EXPECT_FALSE(encode_results(list, reduce).has_value());
    EXPECT_EQ(fixture.counts.of(path), kept);
    EXPECT_FALSE(encode_batch(Batch{{"f", {mapped}}, {"g", list}}, reduce).has_value());
    EXPECT_EQ(fixture.counts.of(path), kept);
  }
  fixture.end();
  EXPECT_TRUE(fixture.counts.empty());
  EXPECT_THAT(fixture.counts.misuse, testing::IsEmpty());
}

TEST(Codec, a_reducer_that_fails_is_heard_B5) {
  const auto refuse = [](const Array&) -> Result<Sent> {
    return failure(std::errc::no_space_on_device, "full");
  };
  EXPECT_EQ(encode_results(List{pretend::array_of(1)}, refuse).error().code,
            std::errc::no_space_on_device);
  EXPECT_TRUE(encode_results(List{1}, refuse).has_value());
}

TEST(Values, take_no_number_that_might_not_fit_B5) {
  EXPECT_FALSE((std::is_constructible_v<Value, std::size_t>));
  EXPECT_FALSE((std::is_constructible_v<Value, long double>));
  EXPECT_FALSE((std::is_constructible_v<Value, int*>));
  EXPECT_EQ(Value(std::uint32_t{7}), Value(std::int64_t{7}));
  EXPECT_EQ(Value(1.5F), Value(1.5));
}

TEST(Values, are_what_they_are_made_of_B5) {
  pretend::expect_transcript(Value(true).kind_name());
  EXPECT_EQ(Value(std::uint8_t{7}), Value(7));
  EXPECT_FALSE(Value(1) == Value(true));
  EXPECT_FALSE(Value(1) == Value(1.0));
  EXPECT_FALSE(Value(0.0) == Value(-0.0));
  EXPECT_EQ(Value(std::numeric_limits<double>::quiet_NaN()),
            Value(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_EQ(Value("text").as<std::string>().value(), "text");
  pretend::expect_transcript(Value("text").as<std::int64_t>().error().subject);
  EXPECT_EQ(Value("a").as<bool>().error().code, std::errc::invalid_argument);
}

}  // namespace
}  // namespace lastref
