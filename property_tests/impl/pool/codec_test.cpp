// codec_test: values of each type arrive as they were written; other bytes give an error.
#include <deque>
#include <limits>
#include <set>
#include <unordered_map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/codec.hpp>
#include <lastref/view.hpp>

namespace lastref {
namespace {

struct Point {
  double x = 0;
  std::int32_t y = 0;
  std::int32_t z = 0;

  bool operator==(const Point&) const = default;
};

enum class Colour : std::uint8_t { red, green };

/// Has a codec of its own, which refuses some bytes.
struct Person {
  std::string name;
  int age = 0;

  bool operator==(const Person&) const = default;
};

}  // namespace

template <>
struct Codec<Person> {
  static void write(Writer& to, const Person& person) { to.write(person.name, person.age); }
  static Result<Person> read(Reader& from) {
    LASTREF_TRY(name, from.read<std::string>());
    LASTREF_TRY(age, from.read<int>());
    if (age < 0) {
      return failure(std::errc::bad_message, "a person with a negative age");
    }
    return Person{.name = std::move(name), .age = age};
  }
};

namespace {

using Nested = std::map<std::string, std::vector<std::optional<std::pair<int, std::string>>>>;

template <typename T>
void arrives(const T& value) {
  const auto copy = decode<T>(encode(value));
  RC_ASSERT(copy.has_value());
  RC_ASSERT(*copy == value);
}

/// Fewer and more bytes are refused.
template <typename T>
void is_refused_if_cut(const T& value) {
  std::vector<std::byte> bytes = encode(value);
  const auto size = *rc::gen::inRange<std::size_t>(0, bytes.size());
  const auto cut = decode<T>(std::span(bytes).first(size));
  RC_ASSERT(failed_with(cut, std::errc::bad_message));
  bytes.push_back(std::byte{});
  RC_ASSERT(failed_with(decode<T>(bytes), std::errc::bad_message));
}

template <typename T>
void arrives_and_is_checked() {
  const auto value = *rc::gen::resize(10, rc::gen::arbitrary<T>());
  arrives(value);
  is_refused_if_cut(value);
}

RC_GTEST_PROP(TypedCodec, values_of_each_type_arrive_as_they_were_written, ()) {
  arrives_and_is_checked<bool>();
  arrives_and_is_checked<char>();
  arrives_and_is_checked<std::uint64_t>();
  arrives_and_is_checked<double>();
  arrives_and_is_checked<std::string>();
  arrives_and_is_checked<std::vector<bool>>();
  arrives_and_is_checked<std::vector<double>>();
  arrives_and_is_checked<std::vector<std::string>>();
  arrives_and_is_checked<std::deque<int>>();
  arrives_and_is_checked<std::set<std::string>>();
  arrives_and_is_checked<std::unordered_map<int, std::string>>();
  arrives_and_is_checked<std::tuple<int, std::string, double>>();
  arrives_and_is_checked<std::array<std::string, 2>>();
  const Point point{*rc::gen::arbitrary<double>(), *rc::gen::arbitrary<std::int32_t>(), 1};
  arrives(std::vector<Point>(*rc::gen::inRange<std::size_t>(0, 4), point));
  arrives(std::array<std::array<Point, 2>, 2>{{{point, point}, {point, point}}});
  arrives(*rc::gen::element(Colour::red, Colour::green));
  const Person person{*rc::gen::arbitrary<std::string>(), *rc::gen::inRange(0, 200)};
  arrives(std::vector<Person>(*rc::gen::inRange<std::size_t>(0, 4), person));
  is_refused_if_cut(person);
}

RC_GTEST_PROP(TypedCodec, nested_values_arrive_as_they_were_written, ()) {
  Nested nested;
  for (int key = *rc::gen::inRange(0, 4); key > 0; --key) {
    auto& list = nested[*rc::gen::arbitrary<std::string>()];
    for (int each = *rc::gen::inRange(0, 4); each > 0; --each) {
      list.push_back(*rc::gen::arbitrary<bool>()
                         ? std::optional(*rc::gen::arbitrary<std::pair<int, std::string>>())
                         : std::nullopt);
    }
  }
  arrives(nested);
  is_refused_if_cut(nested);
}

RC_GTEST_PROP(TypedCodec, any_bytes_give_a_value_or_an_error, ()) {
  const auto random = *rc::gen::arbitrary<std::vector<std::uint8_t>>();
  std::vector<std::byte> bytes;
  // Small numbers first, so that counts are plausible.
  for (const std::uint8_t each : random) {
    bytes.push_back(std::byte{*rc::gen::arbitrary<bool>() ? each : std::uint8_t(each % 3)});
    bytes.resize(bytes.size() + (*rc::gen::arbitrary<bool>() ? 7U : 0U));
  }
  const auto nested = decode<Nested>(bytes);
  RC_ASSERT((nested ? encode(*nested).size() == bytes.size()
                    : nested.error().code == std::errc::bad_message));
  const auto people = decode<std::vector<Person>>(bytes);
  RC_ASSERT((people ? encode(*people) == bytes : people.error().code == std::errc::bad_message));
}

TEST(TypedCodec, a_count_is_checked_before_memory_is_allocated) {
  const std::vector<std::byte> bytes = encode(std::numeric_limits<std::uint64_t>::max() / 2);
  for (const auto& subject : {decode<std::string>(bytes).error(),
                              decode<std::vector<double>>(bytes).error(),
                              decode<std::vector<std::string>>(bytes).error(),
                              decode<std::set<int>>(bytes).error(),
                              decode<Nested>(bytes).error()}) {
    EXPECT_EQ(subject.code, std::errc::bad_message);
    EXPECT_EQ(subject.subject, "more elements than bytes");
  }
}

TEST(TypedCodec, a_truth_value_that_is_neither_and_a_key_that_is_there_twice_are_refused) {
  EXPECT_TRUE(failed_with(decode<bool>(encode('\2')), std::errc::bad_message));
  const std::vector<int> twice{1, 1};
  EXPECT_TRUE(decode<std::vector<int>>(encode(twice)));
  EXPECT_TRUE(failed_with(decode<std::set<int>>(encode(twice)), std::errc::bad_message));
}

TEST(TypedCodec, elements_without_contents_take_a_byte_each) {
  const std::vector<std::tuple<>> nothing(3);
  EXPECT_EQ(decode<std::vector<std::tuple<>>>(encode(nothing)), nothing);
}

TEST(TypedCodec, types_whose_bytes_mean_nothing_elsewhere_have_no_codec) {
  EXPECT_FALSE(Encodable<int*>);
  EXPECT_FALSE(Encodable<std::string_view>);
  EXPECT_FALSE(Encodable<std::span<int>>);
  EXPECT_FALSE(Encodable<std::reference_wrapper<int>>);
  EXPECT_FALSE(Encodable<std::unique_ptr<int>>);
  EXPECT_FALSE((Encodable<std::array<int*, 2>>));
  EXPECT_FALSE((Encodable<std::vector<std::string_view>>));
  EXPECT_TRUE((Encodable<std::array<int, 2>>));
}

TEST(TypedCodec, arrays_travel_next_to_the_bytes_in_their_order) {
  const Array one = Array::zeros(dtype_of<double>().value(), {1}).value();
  const Array two = Array::zeros(dtype_of<double>().value(), {2}).value();
  Writer to;
  to.write(one, 7, two);
  Reader from(to.bytes(), to.arrays());
  EXPECT_TRUE(from.read<Array>().value().is(one));
  EXPECT_EQ(from.read<int>().value(), 7);
  EXPECT_FALSE(from.finish());
  EXPECT_TRUE(from.read<Array>().value().is(two));
  EXPECT_TRUE(from.finish());
  EXPECT_TRUE(failed_with(decode<Array>(to.bytes()), std::errc::bad_message));
}

TEST(TypedCodec, blocks_that_are_stored_elsewhere_travel_as_arrays) {
  std::vector<Array> stored;
  const auto store = [&](std::span<const std::byte> block) -> Result<std::optional<Array>> {
    if (block.size() < 8) {
      return std::optional<Array>();
    }
    auto array = Array::zeros(dtype_of<std::byte>().value(), {block.size()}).value();
    std::ranges::copy(block, array.mutable_data().value());
    stored.push_back(array);
    return std::optional(array);
  };
  Writer to(store);
  const std::vector<std::string> texts = {"a", "twelve bytes", "", "eight..."};
  to.write(texts, 7);
  EXPECT_THAT(stored, testing::SizeIs(2));
  Reader from(to.bytes(), to.arrays());
  EXPECT_EQ(from.read<std::vector<std::string>>().value(), texts);
  EXPECT_EQ(from.read<int>().value(), 7);
  EXPECT_TRUE(from.finish());
  EXPECT_TRUE(failed_with(decode<std::vector<std::string>>(to.bytes()), std::errc::bad_message));
}

TEST(TypedCodec, stored_blocks_have_a_whole_number_of_adjacent_elements) {
  Writer to;
  to.write(Writer::stored_block);
  const auto read = [&](const Array& array) {
    return decode<std::vector<int>>(Reader(to.bytes(), std::span(&array, 1)));
  };
  const auto bytes = Array::zeros(dtype_of<std::byte>().value(), {8}).value();
  EXPECT_EQ(read(bytes).value(), std::vector({0, 0}));
  const std::array odd = {Slice{.stop = 7}};
  EXPECT_TRUE(failed_with(read(bytes.slice(odd).value()), std::errc::bad_message));
  const std::array every_second = {Slice{.step = 2}};
  EXPECT_TRUE(failed_with(read(bytes.slice(every_second).value()), std::errc::bad_message));
}

TEST(TypedCodec, a_block_that_cannot_be_stored_fails_the_writer) {
  Writer to([](std::span<const std::byte>) -> Result<std::optional<Array>> {
    return failure(std::errc::no_space_on_device, "a file");
  });
  to.write(7);
  EXPECT_TRUE(to.stored());
  to.write(std::string("abc"));
  EXPECT_TRUE(failed_with(to.stored(), std::errc::no_space_on_device));
}

TEST(ResultOfNoValue, throws_a_failure_that_describes_the_error) {
  const Result<int> result = failure(std::errc::permission_denied, "a file", Call::open);
  const Status status = status_of(result);
  EXPECT_EQ(result.error().what(), "open a file: Permission denied");
  try {
    static_cast<void>(result.value());
    ADD_FAILURE() << "it has a value";
  } catch (const Failure& thrown) {
    EXPECT_EQ(thrown.what(), result.error().what());
    EXPECT_EQ(thrown.error(), result.error());
  }
  EXPECT_THROW(status.value(), std::runtime_error);
  EXPECT_EQ(Result<int>(3).value(), 3);
  EXPECT_EQ(*Result<std::unique_ptr<int>>(std::make_unique<int>(4)).value(), 4);
}

TEST(ResultOfNoValue, fail_prints_the_error_and_returns_an_exit_code) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(fail(failure(std::errc::permission_denied, "a file").value()), EXIT_FAILURE);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "pool_test: a file: Permission denied\n");
}

}  // namespace
}  // namespace lastref
