// view_test: a View has the elements of its array, and refuses arrays that do not fit.
#include <numeric>

#include <gtest/gtest.h>

#include <lastref/view.hpp>

#include "property_tests/support/array_model.hpp"

namespace lastref {
namespace {

struct Corner {
  double x = 0;
  double y = 0;
};

View<std::int32_t, 2> three_by_four() {
  const auto view =
      View<std::int32_t, 2>::of(Array::zeros(dtype_of<std::int32_t>().value(), {3, 4}).value());
  std::iota(view->flat().begin(), view->flat().end(), 0);
  return *view;
}

TEST(Views, have_the_elements_of_their_array) {
  const auto view = three_by_four();
  EXPECT_EQ(view(2, 3), 11);
  EXPECT_EQ(view.row(1).size(), 4U);
  EXPECT_EQ(view.row(1)[2], 6);
  EXPECT_EQ(view.extent(0), 3U);
  EXPECT_EQ(view.stride(0), 16);
  view(2, 3) = 5;
  const View<const std::int32_t, 2> constant = view;
  EXPECT_EQ(constant(2, 3), 5);
  EXPECT_TRUE(constant.array().is(view.array()));
}

TEST(Views, of_every_second_row_have_a_stride) {
  const auto view = three_by_four();
  const auto half =
      View<std::int32_t, 2>::of(view.array().slice(std::array{Slice{.step = 2}}).value());
  ASSERT_TRUE(half);
  EXPECT_EQ((*half)(1, 0), 8);
  EXPECT_EQ(half->row(1)[3], 11);
}

TEST(Views, of_arrays_that_do_not_fit_are_refused) {
  const Array array = three_by_four().array();
  EXPECT_TRUE(failed_with((View<float, 2>::of(array)), std::errc::invalid_argument));
  EXPECT_TRUE(failed_with((View<std::int32_t, 1>::of(array)), std::errc::invalid_argument));
  EXPECT_TRUE(
      failed_with((View<std::int32_t, 2>::of(array.read_only())), std::errc::permission_denied));
  EXPECT_TRUE((View<const std::int32_t, 2>::of(array.read_only())));
  EXPECT_TRUE(failed_with((View<std::int32_t, 2>::of(array.transpose().value())),
                          std::errc::not_supported));
}

TEST(Views, without_elements_have_empty_rows) {
  const auto view =
      View<double, 2>::of(Array::zeros(dtype_of<double>().value(), {2, 0}).value()).value();
  EXPECT_TRUE(view.row(1).empty());
  EXPECT_TRUE(view.flat().empty());
}

TEST(Views, of_structs_are_of_raw_bytes) {
  EXPECT_EQ(dtype_of<Corner>()->text(), "|V16");
  EXPECT_EQ(dtype_of<std::uint8_t>()->text(), "|u1");
  EXPECT_EQ(dtype_of<std::complex<float>>()->text(), "<c8");
  const auto points =
      View<Corner, 1>::of(Array::zeros(dtype_of<Corner>().value(), {2}).value()).value();
  points(1).y = 4;
  EXPECT_EQ(points.row()[1].y, 4);
}

TEST(Views, travel_as_arrays_and_are_checked_on_arrival) {
  const auto view = three_by_four();
  Writer to;
  to.write(view);
  EXPECT_EQ((decode<View<const std::int32_t, 2>>(Reader(to.bytes(), to.arrays())).value()(1, 1)),
            5);
  EXPECT_TRUE(failed_with((decode<View<double, 2>>(Reader(to.bytes(), to.arrays()))),
                          std::errc::invalid_argument));
}

TEST(ViewsDeathTest, an_index_out_of_range_ends_the_program) {
  EXPECT_DEATH(static_cast<void>(three_by_four()(3, 0)), "index");
}

}  // namespace
}  // namespace lastref
