// array_test: arrays and their views, against a model that finds every element by its position.
#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <ostream>
#include <thread>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/array.hpp>

#include "property_tests/support/array_generators.hpp"
#include "property_tests/support/array_model.hpp"

// Sanitizers treat a request for too much memory as an error; the test makes one to see ours.
#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
#elif defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}
#endif

namespace lastref {
namespace {

using pretend::any_array;
using pretend::any_order;
using pretend::any_shape;
using pretend::any_slice;
using pretend::any_view;
using pretend::dtype_of;
using pretend::Model;
using pretend::model_of;
using pretend::must;

constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
constexpr std::ptrdiff_t farthest = std::numeric_limits<std::ptrdiff_t>::max();
constexpr std::ptrdiff_t lowest = std::numeric_limits<std::ptrdiff_t>::min();

Array any_array_of_any_type() {
  return any_array(dtype_of(*pretend::any_dtype_text()));
}

/// Holds for every array.
void check(const Array& array) {
  const Model model = model_of(array);
  const std::size_t itemsize = array.dtype().itemsize();
  RC_ASSERT(array.size() == pretend::count_of(array.shape()));
  RC_ASSERT(array.nbytes() == array.size() * itemsize);
  const os::Bytes memory = array.memory()->bytes();
  const os::Bytes bounds = array.bounds();
  if (array.size() == 0) {
    RC_ASSERT(bounds.empty());
    RC_ASSERT(array.is_c_contiguous());
    RC_ASSERT(array.is_f_contiguous());
    RC_ASSERT(array.offset() <= memory.size());
    return;
  }
  const auto [low, high] = std::ranges::minmax(model.at);
  RC_ASSERT(low >= 0);
  RC_ASSERT(static_cast<std::size_t>(high) + itemsize <= memory.size());
  RC_ASSERT(bounds.data() == memory.data() + low);
  RC_ASSERT(bounds.size() == static_cast<std::size_t>(high - low) + itemsize);
  RC_ASSERT(array.data() == memory.data() + model.at.front());
  if (itemsize > 0) {
    RC_ASSERT(array.is_c_contiguous() == model.is_contiguous(itemsize, Order::c));
    RC_ASSERT(array.is_f_contiguous() == model.is_contiguous(itemsize, Order::f));
  }
}

RC_GTEST_PROP(ArrayProperties, any_layout_lies_in_its_memory_with_the_flags_of_numpy_R3, ()) {
  const Array array = any_array_of_any_type();
  check(array);
  RC_ASSERT(!array.base().has_value());
}

RC_GTEST_PROP(ArrayProperties, a_slice_has_the_elements_that_python_takes_R3, ()) {
  const Array array = any_array_of_any_type();
  const auto slices = *rc::gen::container<std::vector<Slice>>(
      *rc::gen::inRange<std::size_t>(0, array.ndim() + 1), any_slice());
  const Array sliced = must(array.slice(slices));
  check(sliced);
  RC_ASSERT(model_of(sliced) == model_of(array).slice(slices));
}

RC_GTEST_PROP(ArrayProperties, a_pick_has_one_index_of_an_axis_R3, ()) {
  const Array array = any_array_of_any_type();
  RC_PRE(array.ndim() > 0);
  const auto axis = *rc::gen::inRange<std::size_t>(0, array.ndim());
  const auto length = static_cast<std::ptrdiff_t>(array.shape()[axis]);
  const auto index = *rc::gen::inRange<std::ptrdiff_t>(-length - 2, length + 2);
  const auto picked = array.pick(axis, index);
  RC_ASSERT(picked.has_value() == (index >= -length && index < length));
  if (picked) {
    check(*picked);
    const auto from_start = static_cast<std::size_t>(index < 0 ? index + length : index);
    RC_ASSERT(model_of(*picked) == model_of(array).pick(axis, from_start));
  } else {
    RC_ASSERT(picked.error().code == std::errc::result_out_of_range);
  }
}

RC_GTEST_PROP(ArrayProperties, a_transposed_array_has_its_elements_at_the_other_index_R3, ()) {
  const Array array = any_array_of_any_type();
  std::vector<std::size_t> axes(array.ndim());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  auto reversed = axes;
  std::ranges::reverse(reversed);
  check(must(array.transpose()));
  RC_ASSERT(model_of(must(array.transpose())) == model_of(array).transpose(reversed));
  std::ranges::sort(
      axes,
      {},
      [keys = *rc::gen::container<std::vector<int>>(axes.size(), rc::gen::arbitrary<int>())](
          std::size_t axis) { return keys[axis]; });
  const Array turned = must(array.transpose(axes));
  check(turned);
  RC_ASSERT(model_of(turned) == model_of(array).transpose(axes));
  if (array.ndim() > 0) {
    const auto one = *rc::gen::inRange<std::size_t>(0, array.ndim());
    const auto other = *rc::gen::inRange<std::size_t>(0, array.ndim());
    std::iota(axes.begin(), axes.end(), std::size_t{0});
    std::swap(axes[one], axes[other]);
    RC_ASSERT(model_of(must(array.swapaxes(one, other))) == model_of(array).transpose(axes));
  }
}

RC_GTEST_PROP(ArrayProperties, a_broadcast_array_repeats_its_elements_and_is_not_written_R4, ()) {
  const Array array = any_array_of_any_type();
  Shape to = array.shape();
  for (std::size_t& length : to) {
    length = length == 1 ? *rc::gen::inRange<std::size_t>(0, 4) : length;
  }
  const Shape more = *any_shape(2, 3);
  to.insert(to.begin(), more.begin(), more.end());
  const Array broadcast = must(array.broadcast_to(to));
  check(broadcast);
  RC_ASSERT(model_of(broadcast) == model_of(array).broadcast_to(to));
  RC_ASSERT(!broadcast.writable());
  if (broadcast.size() > 0) {
    RC_ASSERT(broadcast.bounds().size() == array.bounds().size());
  }
}

RC_GTEST_PROP(ArrayProperties, a_reshaped_array_is_a_view_wherever_strides_can_say_it_R3, ()) {
  Array array = any_array_of_any_type();
  if (*rc::gen::arbitrary<bool>()) {
    array = any_view(array);
  }
  const Shape to = *pretend::shape_of(array.size());
  const Order order = *any_order();
  const Model expected = model_of(array).reshape(to, order);
  const auto reshaped = array.reshape(to, order);
  RC_ASSERT(reshaped.has_value() == expected.is_strided());
  if (reshaped) {
    check(*reshaped);
    RC_ASSERT(model_of(*reshaped) == expected);
  } else {
    RC_ASSERT(reshaped.error().code == std::errc::not_supported);
  }
}

RC_GTEST_PROP(ArrayProperties, a_view_of_views_stays_in_its_root_and_keeps_it_R7, ()) {
  std::optional<Array> root(any_array_of_any_type());
  const auto identity = root->identity();
  Array view = *root;
  const auto steps = *rc::gen::inRange(1, 5);
  for (int step = 0; step < steps && view.ndim() < 20; ++step) {
    view = any_view(view);
    check(view);
  }
  RC_PRE(!view.is(*root));
  RC_ASSERT(view.base()->is(*root));
  RC_ASSERT(!view.base()->base().has_value());
  RC_ASSERT(view.memory() == root->memory());
  root.reset();
  RC_ASSERT(!identity.expired());
  view = must(Array::zeros(dtype_of("|u1"), {}));
  RC_ASSERT(identity.expired());
}

RC_GTEST_PROP(ArrayProperties, strides_of_any_kind_are_taken_exactly_if_they_stay_inside_R3, ()) {
  const Array array = any_view(any_array(dtype_of("<i2")));
  const Shape shape = *any_shape(3, 3);
  Strides strides;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    strides.push_back(*rc::gen::inRange<std::ptrdiff_t>(-9, 10));
  }
  const auto offset = *rc::gen::inRange<std::ptrdiff_t>(-20, 40);
  const auto mine = static_cast<std::ptrdiff_t>(array.offset());
  const auto low = array.bounds().data() - array.memory()->bytes().data();
  const auto high = low + std::ssize(array.bounds());
  bool inside = mine + offset >= low && mine + offset <= high;
  for (std::size_t k = 0; k < pretend::count_of(shape); ++k) {
    const pretend::Index index = pretend::index_of(shape, k);
    std::ptrdiff_t at = mine + offset;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      at += static_cast<std::ptrdiff_t>(index[axis]) * strides[axis];
    }
    inside = inside && at >= low && at + 2 <= high;
  }
  const auto made = array.as_strided(shape, strides, offset);
  RC_ASSERT(made.has_value() == inside);
  if (made) {
    check(*made);
    RC_ASSERT(made->strides() == strides);
  } else {
    RC_ASSERT(made.error().code == std::errc::result_out_of_range);
  }
}

RC_GTEST_PROP(ArrayProperties, a_copy_has_the_same_elements_in_memory_of_its_own_R5, ()) {
  Array array = any_array_of_any_type();
  if (*rc::gen::arbitrary<bool>()) {
    array = any_view(array);
  }
  const Order order = *any_order();
  const Array copy = must(array.copy(order));
  check(copy);
  RC_ASSERT(copy.is_contiguous(order));
  RC_ASSERT(copy.shape() == array.shape());
  RC_ASSERT(pretend::elements_of(copy) == pretend::elements_of(array));
  RC_ASSERT(contents_equal(copy, array));
  RC_ASSERT(contents_equal(array, copy));
  RC_ASSERT(copy.memory() != array.memory());
  RC_ASSERT(copy.writable());
  RC_ASSERT(std::bit_cast<std::uintptr_t>(copy.data()) % 64 == 0);
  if (copy.nbytes() > 0) {
    std::byte& byte = copy.memory()->bytes()[*rc::gen::inRange<std::size_t>(0, copy.nbytes())];
    byte ^= std::byte{1};
    RC_ASSERT(!contents_equal(copy, array));
  }
}

TEST(Array, is_copied_whatever_its_size_is_R5) {
  // Larger than what is compared in one step, with runs that cross the ends of the buffers.
  const Array wide = must(Array::zeros(dtype_of("|V7"), {300, 200}));
  pretend::fill_with_pattern(wide.memory()->bytes());
  const std::vector<Slice> slices = {{.step = -1}, {.start = 3, .stop = 190}};
  const Array view = must(wide.slice(slices));
  for (const Order order : {Order::c, Order::f}) {
    const Array copy = must(view.copy(order));
    EXPECT_TRUE(contents_equal(copy, view));
    EXPECT_EQ(pretend::elements_of(copy), pretend::elements_of(view));
    copy.mutable_data().value()[copy.nbytes() - 1] ^= std::byte{1};
    EXPECT_FALSE(contents_equal(copy, view));
  }
}

TEST(Array, equals_only_what_has_the_same_type_and_shape) {
  const Array one = must(Array::zeros(dtype_of("<i4"), {2, 2}));
  EXPECT_TRUE(contents_equal(one, must(Array::zeros(dtype_of("<i4"), {2, 2}, Order::f))));
  EXPECT_FALSE(contents_equal(one, must(Array::zeros(dtype_of(">i4"), {2, 2}))));
  EXPECT_FALSE(contents_equal(one, must(Array::zeros(dtype_of("<i4"), {4}))));
}

TEST(Array, lies_as_its_header_comment_shows) {
  const Array array = must(Array::zeros(dtype_of("<i4"), {4, 2}));
  const std::vector<Slice> slices = {{.step = -2}};
  const Array rows = must(array.slice(slices));
  EXPECT_EQ(rows.shape(), (Shape{2, 2}));
  EXPECT_EQ(rows.strides(), (Strides{-16, 4}));
  EXPECT_EQ(rows.offset(), 24U);
  EXPECT_EQ(rows.bounds().data(), array.data() + 8);
  EXPECT_EQ(rows.bounds().size(), 24U);
}

TEST(Array, without_axes_has_one_element) {
  const Array array = must(Array::zeros(dtype_of("<f8"), {}));
  EXPECT_EQ(array.size(), 1U);
  EXPECT_TRUE(array.is_c_contiguous());
  EXPECT_TRUE(array.is_f_contiguous());
  EXPECT_EQ(array.bounds().size(), 8U);
  EXPECT_EQ(must(array.reshape({1, 1})).size(), 1U);
}

TEST(Array, that_cannot_be_is_refused) {
  const DType type = dtype_of("<f8");
  constexpr auto large = std::errc::value_too_large;
  for (const Shape& shape : {Shape{most},
                             Shape{most / 8},
                             Shape{std::size_t{1} << 32U, std::size_t{1} << 31U},
                             Shape{std::size_t{1} << 60U},
                             Shape{0, most},
                             Shape{most, 0},
                             Shape{most / 2, 0, 3},
                             Shape(33, 1)}) {
    EXPECT_EQ(Array::zeros(type, shape).error().code, large);
    EXPECT_EQ(must(Array::zeros(type, {1})).broadcast_to(shape).error().code, large);
    EXPECT_EQ(must(Array::zeros(type, {0})).reshape(shape).error().code, large);
    EXPECT_EQ(must(Array::zeros(type, {1})).as_strided(shape, Strides(shape.size())).error().code,
              large);
  }
  EXPECT_TRUE(Array::zeros(type, Shape(32, 1)));
  EXPECT_TRUE(Array::zeros(type, {0, std::size_t{1} << 50U}));
}

TEST(Array, that_no_memory_holds_is_an_error_and_no_exception_E15) {
  const DType type = must(DType::parse("<i4"));
  const Shape too_much = {std::size_t{1} << 58U};
  const Array one = must(Array::zeros(type, {1}));
  EXPECT_EQ(Array::zeros(type, too_much).error().code, std::errc::not_enough_memory);
  EXPECT_EQ(must(one.broadcast_to(too_much)).copy().error().code, std::errc::not_enough_memory);
}

TEST(Array, of_more_bytes_than_there_can_be_is_neither_made_nor_copied) {
  const Array one = must(Array::zeros(dtype_of("<i8"), {1}));
  constexpr std::size_t many = std::size_t{1} << 61U;
  EXPECT_FALSE(Array::over(one.memory(), {.dtype = dtype_of("<i8"), .shape = {many, 8}}));
  const auto view = one.broadcast_to({many / 32});
  ASSERT_TRUE(view);
  EXPECT_FALSE(view->copy(Order::c));
}

TEST(Array, never_looks_outside_of_its_memory_R3) {
  const auto memory = must(Memory::zeros(16));
  const DType type = dtype_of("<i4");
  constexpr auto outside = std::errc::result_out_of_range;
  const auto over = [&](Shape shape, std::optional<Strides> strides, std::size_t offset) {
    return Array::over(memory,
                       {.dtype = type,
                        .shape = std::move(shape),
                        .strides = std::move(strides),
                        .offset = offset});
  };
  EXPECT_TRUE(over({4}, {}, 0));
  EXPECT_EQ(over({5}, {}, 0).error().code, outside);
  EXPECT_EQ(over({4}, {}, 1).error().code, outside);
  EXPECT_EQ(over({}, {}, 13).error().code, outside);
  EXPECT_TRUE(over({0}, {}, 16));
  EXPECT_EQ(over({0}, {}, 17).error().code, outside);
  EXPECT_EQ(over({0}, {}, most).error().code, outside);
  EXPECT_TRUE(over({4}, Strides{-4}, 12));
  EXPECT_EQ(over({4}, Strides{-4}, 11).error().code, outside);
  EXPECT_EQ(over({2}, Strides{farthest}, 0).error().code, outside);
  EXPECT_EQ(over({2}, Strides{lowest}, 12).error().code, outside);
  EXPECT_EQ(over({3}, Strides{farthest}, 0).error().code, outside);
  EXPECT_EQ(over({2, 2}, Strides{farthest, farthest}, 0).error().code, outside);
  EXPECT_EQ(over({2, 2}, Strides{lowest, lowest}, 0).error().code, outside);
  EXPECT_TRUE(over({0, 2}, Strides{lowest, farthest}, 0));
  EXPECT_EQ(over({2}, Strides{4, 4}, 0).error().code, std::errc::invalid_argument);
  const Array whole = must(over({4}, {}, 0));
  EXPECT_EQ(whole.as_strided({2}, {4}, farthest).error().code, outside);
  EXPECT_EQ(whole.as_strided({2}, {4}, lowest).error().code, outside);
  EXPECT_EQ(whole.as_strided({1000}, {4}).error().code, outside);
  EXPECT_EQ(whole.as_strided({1}, {4}, -4).error().code, outside);
  EXPECT_EQ(whole.as_strided({2}, {4, 4}).error().code, std::errc::invalid_argument);
}

TEST(Array, of_strides_that_lead_nowhere_has_views_too) {
  const auto empty = must(Array::over(
      must(Memory::zeros(1)),
      {.dtype = dtype_of("<i4"), .shape = {3, 0}, .strides = Strides{farthest, lowest}}));
  EXPECT_EQ(must(empty.pick(0, 2)).offset(), 0U);
  EXPECT_EQ(must(empty.slice(std::vector<Slice>{{.start = 2}})).offset(), 0U);
  EXPECT_EQ(must(empty.slice(std::vector<Slice>{{.step = -2}})).shape(), (Shape{2, 0}));
  EXPECT_EQ(empty.item_offset(std::vector<std::ptrdiff_t>{2, 0}).error().code,
            std::errc::result_out_of_range);
  EXPECT_EQ(must(empty.copy()).size(), 0U);
}

TEST(Array, has_no_view_by_wrong_words) {
  const Array array = must(Array::zeros(dtype_of("<i4"), {4, 2}));
  constexpr auto wrong = std::errc::invalid_argument;
  EXPECT_EQ(array.slice(std::vector<Slice>(3)).error().code, wrong);
  EXPECT_EQ(array.slice(std::vector<Slice>{{.step = 0}}).error().code, wrong);
  EXPECT_EQ(array.pick(2, 0).error().code, wrong);
  EXPECT_EQ(array.transpose(std::vector<std::size_t>{0}).error().code, wrong);
  EXPECT_EQ(array.transpose(std::vector<std::size_t>{0, 0}).error().code, wrong);
  EXPECT_EQ(array.transpose(std::vector<std::size_t>{0, 2}).error().code, wrong);
  EXPECT_EQ(array.swapaxes(0, 2).error().code, wrong);
  EXPECT_EQ(array.broadcast_to({2}).error().code, wrong);
  EXPECT_EQ(array.broadcast_to({4, 3}).error().code, wrong);
  EXPECT_EQ(array.reshape({9}).error().code, wrong);
  EXPECT_EQ(array.item_offset(std::vector<std::ptrdiff_t>{0}).error().code, wrong);
  EXPECT_EQ(array.item_offset(std::vector<std::ptrdiff_t>{0, 2}).error().code,
            std::errc::result_out_of_range);
  EXPECT_EQ(array.item_offset(std::vector<std::ptrdiff_t>{-1, -1}), 28);
}

TEST(Array, is_itself_in_every_handle_and_nobody_else_R1) {
  const Array array = must(Array::zeros(dtype_of("<i4"), {4}));
  const Array same = array;
  const Array view = must(array.transpose());
  EXPECT_TRUE(same.is(array));
  EXPECT_FALSE(view.is(array));
  const std::owner_less<std::weak_ptr<const void>> less;
  EXPECT_FALSE(less(same.identity(), array.identity()) || less(array.identity(), same.identity()));
  EXPECT_TRUE(less(view.identity(), array.identity()) || less(array.identity(), view.identity()));
}

TEST(Array, over_the_bytes_of_strangers_keeps_their_keeper) {
  auto keeper = std::make_shared<std::array<std::byte, 8>>();
  const std::weak_ptr<void> watched = keeper;
  auto memory = Memory::wrap(os::Buffer(*keeper), keeper);
  auto constant = Memory::wrap(os::Bytes(*keeper), keeper);
  keeper.reset();
  EXPECT_EQ(memory->origin(), Origin::external);
  EXPECT_FALSE(memory->file().has_value());
  {
    const auto written =
        must(Array::over(std::move(memory), {.dtype = dtype_of("<i4"), .shape = {2}}));
    const auto read =
        must(Array::over(std::move(constant), {.dtype = dtype_of("<i4"), .shape = {2}}));
    written.mutable_data().value()[7] = std::byte{5};
    EXPECT_EQ(read.data()[7], std::byte{5});
    EXPECT_TRUE(written.writable());
    EXPECT_FALSE(read.writable());
    EXPECT_FALSE(must(read.transpose()).writable());
    EXPECT_TRUE(must(read.copy()).writable());
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

TEST(ReadOnlyArray, gives_no_bytes_to_write_to_E15) {
  const Array array = must(Array::zeros(dtype_of("<i4"), {2}));
  const Array broadcast = must(must(Array::zeros(dtype_of("<i4"), {1})).broadcast_to({2}));
  for (const Array& each : {broadcast, array.read_only()}) {
    EXPECT_FALSE(each.writable());
    EXPECT_EQ(each.mutable_data().error().code, std::errc::permission_denied);
  }
  EXPECT_EQ(must(array.mutable_data()), array.data());
}

TEST(ArrayEnd, has_each_action_that_one_of_two_threads_has_registered_R4) {
  constexpr int rounds = 100;
  constexpr int actions = 100;
  for (int round = 0; round < rounds; ++round) {
    std::atomic<int> called = 0;
    std::atomic<int> ready = 0;
    {
      const Array array = must(Array::zeros(dtype_of("<i4"), {1}));
      const auto registers = [&] {
        for (++ready; ready < 2;) {
        }
        for (int each = 0; each < actions; ++each) {
          must(array.when_gone([&] { ++called; }));
        }
      };
      std::thread other(registers);
      registers();
      other.join();
    }
    ASSERT_EQ(called, 2 * actions);
  }
}

TEST(ReadOnlyArray, is_the_same_array_and_so_are_its_views_E13) {
  const Array array = must(Array::zeros(dtype_of("<i4"), {2, 3}));
  const Array handle = array.read_only();
  EXPECT_TRUE(handle.is(array));
  const Array views[] = {must(handle.transpose()),
                         must(handle.pick(0, 1)),
                         must(handle.slice({})),
                         must(handle.reshape({6})),
                         must(handle.broadcast_to({4, 2, 3})),
                         *must(handle.pick(0, 1)).base()};
  for (const Array& view : views) {
    EXPECT_FALSE(view.writable());
  }
  EXPECT_TRUE(must(handle.copy()).writable());
  EXPECT_TRUE(array.writable());
  EXPECT_TRUE(must(array.transpose()).base()->writable());
}

}  // namespace
}  // namespace lastref
