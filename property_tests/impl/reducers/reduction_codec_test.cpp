// reduction_codec_test: reductions arrive as they were sent, and foreign bytes are refused.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/reducers.hpp>

#include "property_tests/impl/reducers/send_fixture.hpp"
#include "property_tests/support/array_generators.hpp"
#include "property_tests/support/array_model.hpp"

namespace lastref {
namespace {

using pretend::dtype_of;
using pretend::must;

using Packed = std::vector<std::byte>;

template <typename T>
rc::Gen<std::optional<T>> maybe(rc::Gen<T> gen) {
  return rc::gen::oneOf(rc::gen::just(std::optional<T>()),
                        rc::gen::map(std::move(gen), [](T value) { return std::optional(value); }));
}

rc::Gen<MapMode> any_mode() {
  return rc::gen::element(
      MapMode::read, MapMode::read_write, MapMode::create, MapMode::copy_on_write);
}

rc::Gen<std::string> any_path() {
  return rc::gen::element<std::string>(
      "/", "/a b", "/caf\xc3\xa9/\n", "/" + std::string(4095, 'x'));
}

StridedFromMemmap any_strided() {
  StridedFromMemmap view{.filename = *any_path(),
                         .dtype = dtype_of(*pretend::any_dtype_text()),
                         .mode = *any_mode(),
                         .offset = *rc::gen::arbitrary<std::uint64_t>(),
                         .order = *pretend::any_order(),
                         .shape = *rc::gen::resize(32, rc::gen::arbitrary<Shape>())};
  if (*rc::gen::arbitrary<bool>()) {
    view.strides =
        *rc::gen::container<Strides>(view.shape.size(), rc::gen::arbitrary<std::ptrdiff_t>());
    view.total_buffer_len = *rc::gen::arbitrary<std::size_t>();
  }
  view.unlink = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) {
    view.identity = Identity{.device = *rc::gen::arbitrary<std::uint64_t>(),
                             .inode = *rc::gen::arbitrary<std::uint64_t>(),
                             .btime = *rc::gen::arbitrary<std::uint64_t>()};
  }
  return view;
}

LoadTemporaryMemmap any_load() {
  return {.filename = *any_path(),
          .mode = *any_mode(),
          .unlink_on_gc_collect = *rc::gen::arbitrary<bool>(),
          .repeated_to = *maybe(rc::gen::resize(32, rc::gen::arbitrary<Shape>()))};
}

Array any_elements() {
  return pretend::any_array(dtype_of(*pretend::any_dtype_text()));
}

Reduction any_reduction() {
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      return any_strided();
    case 1:
      return any_load();
    default:
      return ByValue{.elements = any_elements()};
  }
}

RC_GTEST_PROP(ReductionCodec, tells_what_it_was_told_R3_R9, ()) {
  const StridedFromMemmap view = any_strided();
  RC_ASSERT(std::get<StridedFromMemmap>(must(decode_reduction(must(encode_reduction(view))))) ==
            view);
  const LoadTemporaryMemmap load = any_load();
  RC_ASSERT(std::get<LoadTemporaryMemmap>(must(decode_reduction(must(encode_reduction(load))))) ==
            load);
  const Array array = any_elements();
  const auto value =
      std::get<ByValue>(must(decode_reduction(must(encode_reduction(ByValue{.elements = array})))));
  RC_ASSERT(contents_equal(value.elements, array));
  RC_ASSERT(!value.repeated_to);
  const bool keeps_order = value.elements.is_f_contiguous() || !array.is_f_contiguous();
  RC_ASSERT(keeps_order);
}

bool is_typed(const Error& error) {
  return error.code == std::errc::bad_message || error.code == std::errc::value_too_large ||
         error.code == std::errc::not_enough_memory;
}

RC_GTEST_PROP(ReductionCodec, refuses_every_part_of_what_it_was_told_R9, ()) {
  const Packed whole = must(encode_reduction(any_reduction()));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    // A copy, so that a read past its end is a read past the allocation.
    const Packed part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto decoded = decode_reduction(part);
    RC_ASSERT(!decoded.has_value());
    RC_ASSERT(is_typed(decoded.error()));
  }
  Packed more = whole;
  more.push_back(std::byte{0});
  RC_ASSERT(!decode_reduction(more).has_value());
}

/// A decoded reduction can be encoded again, and rebuilt or refused, but nothing crashes.
void survive(const Packed& bytes, Receiver& receiver) {
  const auto decoded = decode_reduction(bytes);
  if (!decoded) {
    RC_ASSERT(is_typed(decoded.error()));
    RC_ASSERT(!decoded.error().subject.empty());
    return;
  }
  RC_ASSERT(encode_reduction(*decoded).has_value());
  const auto rebuilt = receiver.rebuild(*decoded);
  if (rebuilt && !rebuilt->bounds().empty()) {
    const os::Bytes bounds = rebuilt->bounds();
    const volatile std::byte* const first = &bounds.front();
    const volatile std::byte* const last = &bounds.back();
    static_cast<void>(*first);
    static_cast<void>(*last);
  }
}

RC_GTEST_PROP(ReductionCodec, survives_every_change_of_a_byte_R9, ()) {
  pretend::SendFixture fixture;
  fixture.folder.write("file", std::string(5000, 'x'));
  Reduction reduction = any_reduction();
  if (auto* view = std::get_if<StridedFromMemmap>(&reduction)) {
    // One that can be rebuilt.
    *view = {.filename = fixture.folder.path("file"),
             .dtype = dtype_of(*rc::gen::element<std::string>(
                 "<i4", "[('a', '<i4'), ('b', 'u1')]", "[('a', '<i4'), ('b', '>f8')]")),
             .mode = *any_mode(),
             .offset = *rc::gen::inRange<std::uint64_t>(0, 200),
             .shape = {3, 2},
             .strides = *maybe(rc::gen::element(Strides{-30, 14}, Strides{0, 12})),
             .total_buffer_len = *rc::gen::element<std::size_t>(200, 80)};
  } else if (auto* load = std::get_if<LoadTemporaryMemmap>(&reduction)) {
    *load = {.filename = fixture.file_of(must(fixture.forward->reduce(pretend::patterned(1000)))),
             .repeated_to = *maybe(rc::gen::just(Shape{5, 1000}))};
  }
  const auto whole = encode_reduction(reduction);
  const Packed good = must(whole);
  const auto change = static_cast<std::byte>(*rc::gen::inRange(1, 256));
  for (std::size_t at = 0; at < good.size(); ++at) {
    Packed changed = good;
    changed[at] ^= change;
    survive(changed, fixture.receiver);
  }
  fixture.folder.remove("file");
}

RC_GTEST_PROP(ReductionCodec, survives_any_bytes_R9, ()) {
  os::KernelOs os;
  pretend::Counts counts;
  Receiver receiver(os, counts.party("worker"));
  Packed bytes =
      *rc::gen::map(rc::gen::resize(500, rc::gen::arbitrary<std::vector<std::uint8_t>>()),
                    [](const std::vector<std::uint8_t>& numbers) {
                      Packed made;
                      for (const std::uint8_t number : numbers) {
                        made.push_back(static_cast<std::byte>(number));
                      }
                      return made;
                    });
  survive(bytes, receiver);
  RC_ASSERT(decode_forward_options(bytes).has_value() ||
            is_typed(decode_forward_options(bytes).error()));
  // The same after a valid start.
  bytes.insert(bytes.begin(), {std::byte{1}, static_cast<std::byte>(*rc::gen::inRange(0, 5))});
  survive(bytes, receiver);
}

TEST(ReductionCodecOnce, never_lets_objects_of_one_python_travel_R4_R5) {
  const Array objects = must(Array::zeros(dtype_of("|O"), {2}));
  const auto value = encode_reduction(ByValue{.elements = objects});
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, std::errc::not_supported);
  const auto view = encode_reduction(
      StridedFromMemmap{.filename = "/a", .dtype = dtype_of("[('a', '|O')]"), .shape = {2}});
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, std::errc::not_supported);
  // Bytes that our encoder does not write, but another may.
  Packed bytes = must(encode_reduction(
      StridedFromMemmap{.filename = "/a", .dtype = dtype_of("|V8"), .shape = {2}}));
  const auto text = os::bytes_of("|V8");
  const auto found = std::ranges::search(bytes, text);
  ASSERT_FALSE(found.empty());
  *(found.begin() - 8) = std::byte{2};
  *(found.begin() + 1) = std::byte{'O'};
  bytes.erase(found.begin() + 2);
  const auto decoded = decode_reduction(bytes);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, std::errc::bad_message);
}

TEST(ReductionCodecOnce, takes_no_memory_for_what_is_not_there_R9) {
  const Array few = must(Array::zeros(dtype_of("|u1"), {2}));
  Packed bytes = must(encode_reduction(ByValue{.elements = few}));
  // Its only length, before the flag of repeats and the two elements.
  bytes[bytes.size() - 3 - 2] = std::byte{0x10};
  const auto decoded = decode_reduction(bytes);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, std::errc::bad_message);
}

RC_GTEST_PROP(OptionsCodec, lets_every_option_travel_R9, ()) {
  const ForwardOptions options{
      .max_nbytes = *maybe(rc::gen::arbitrary<std::uint64_t>()),
      .mmap_mode = *any_mode(),
      .unlink_on_gc_collect = *rc::gen::arbitrary<bool>(),
      .prewarm = *rc::gen::element(Prewarm::off, Prewarm::on, Prewarm::automatic),
      .verbose = *rc::gen::arbitrary<int>()};
  const Packed whole = must(encode_forward_options(options));
  RC_ASSERT(must(decode_forward_options(whole)) == options);
  RC_ASSERT(!decode_reduction(whole).has_value());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Packed part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto decoded = decode_forward_options(part);
    RC_ASSERT(!decoded.has_value());
    RC_ASSERT(decoded.error().code == std::errc::bad_message);
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    Packed changed = whole;
    changed[at] ^= static_cast<std::byte>(*rc::gen::inRange(1, 256));
    const auto decoded = decode_forward_options(changed);
    if (decoded) {
      RC_ASSERT(!(*decoded == options));
    } else {
      RC_ASSERT(decoded.error().code == std::errc::bad_message);
    }
  }
  const Packed reduction = must(encode_reduction(any_load()));
  RC_ASSERT(!decode_forward_options(reduction).has_value());
}

}  // namespace
}  // namespace lastref
