#include "property_tests/support/array_generators.hpp"

#include <algorithm>
#include <numeric>

#include "property_tests/support/array_model.hpp"

namespace lastref::pretend {

namespace {

/// The same at every size of a case: small sizes would mostly give arrays without axes or elements.
template <typename T>
rc::Gen<T> at_full_size(rc::Gen<T> gen) {
  return rc::gen::resize(rc::kNominalSize, std::move(gen));
}

}  // namespace

rc::Gen<Shape> any_shape(std::size_t dims, std::size_t length) {
  const auto count = rc::gen::weightedOneOf<std::size_t>(
      {{1, rc::gen::just<std::size_t>(0)}, {8, rc::gen::inRange<std::size_t>(1, dims + 1)}});
  const auto axis =
      rc::gen::weightedOneOf<std::size_t>({{12, rc::gen::inRange<std::size_t>(2, length + 1)},
                                           {1, rc::gen::just<std::size_t>(0)},
                                           {3, rc::gen::just<std::size_t>(1)}});
  return at_full_size(rc::gen::mapcat(
      count, [axis](std::size_t axes) { return rc::gen::container<Shape>(axes, axis); }));
}

rc::Gen<std::string> any_dtype_text() {
  return rc::gen::element<std::string>("|b1",
                                       "|i1",
                                       "|u1",
                                       "<i2",
                                       ">u2",
                                       "<i4",
                                       ">i4",
                                       "<u8",
                                       ">i8",
                                       "<f2",
                                       ">f4",
                                       "<f8",
                                       ">f8",
                                       "<f16",
                                       ">f16",
                                       "<c8",
                                       ">c16",
                                       "<c32",
                                       "|S1",
                                       "|S13",
                                       "<U1",
                                       ">U5",
                                       "|V1",
                                       "|V24",
                                       "<M8",
                                       "<M8[ns]",
                                       ">m8[25s]",
                                       "|S0",
                                       "[('a', '<i4'), ('b', '>f8')]",
                                       "[('a', '|u1'), ('', '|V3'), (('t', 'c'), '<c8', (2, 3))]",
                                       "[('x', [('y', '|S3')], (2,))]");
}

rc::Gen<Slice> any_slice() {
  const auto bound = at_full_size(rc::gen::weightedOneOf<int>(
      {{6, rc::gen::inRange(-5, 6)}, {1, rc::gen::just(1000)}, {1, rc::gen::just(-1000)}}));
  return rc::gen::build<Slice>(
      rc::gen::set(&Slice::start,
                   rc::gen::map(rc::gen::pair(bound, rc::gen::arbitrary<bool>()),
                                [](auto made) -> std::optional<std::ptrdiff_t> {
                                  return made.second ? std::optional<std::ptrdiff_t>(made.first)
                                                     : std::nullopt;
                                })),
      rc::gen::set(&Slice::stop,
                   rc::gen::map(rc::gen::pair(bound, rc::gen::arbitrary<bool>()),
                                [](auto made) -> std::optional<std::ptrdiff_t> {
                                  return made.second ? std::optional<std::ptrdiff_t>(made.first)
                                                     : std::nullopt;
                                })),
      rc::gen::set(&Slice::step,
                   rc::gen::element<std::ptrdiff_t>(
                       1, 1, 1, -1, -1, -1, 2, -2, 3, -3, 1000, -1000, PTRDIFF_MAX, PTRDIFF_MIN)));
}

rc::Gen<Order> any_order() {
  return rc::gen::element(Order::c, Order::f);
}

rc::Gen<Shape> shape_of(std::size_t count) {
  return rc::gen::exec([count]() -> Shape {
    Shape shape;
    std::size_t left = count;
    while (left > 1) {
      std::vector<std::size_t> divisors;
      for (std::size_t length = 1; length <= left; ++length) {
        if (left % length == 0) {
          divisors.push_back(length);
        }
      }
      shape.push_back(*rc::gen::elementOf(divisors));
      left /= shape.back();
      if (shape.size() == 6) {
        shape.push_back(left);
        break;
      }
    }
    if (count == 0) {
      shape = *any_shape(3);
      shape.push_back(0);
    }
    return shape;
  });
}

Array any_array(const DType& dtype) {
  const Shape shape = *any_shape();
  std::vector<int> chosen = *rc::gen::container<std::vector<int>>(
      shape.size(),
      at_full_size(rc::gen::weightedOneOf<int>(
          {{3, rc::gen::inRange(-3, 4)}, {1, rc::gen::inRange(-60, 60)}})));
  const auto unit = static_cast<std::ptrdiff_t>(
      *rc::gen::element<std::size_t>(1, std::max<std::size_t>(dtype.itemsize(), 1)));
  Strides strides;
  std::ptrdiff_t low = 0;
  std::ptrdiff_t high = static_cast<std::ptrdiff_t>(dtype.itemsize());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    strides.push_back(chosen[axis] * unit);
    const std::ptrdiff_t reach =
        strides.back() * (static_cast<std::ptrdiff_t>(std::max<std::size_t>(shape[axis], 1)) - 1);
    (reach < 0 ? low : high) += reach;
  }
  const auto before = *rc::gen::inRange<std::size_t>(0, 3);
  const auto behind = *rc::gen::inRange<std::size_t>(0, 3);
  auto memory = must(Memory::zeros(before + static_cast<std::size_t>(high - low) + behind));
  fill_with_pattern(memory->bytes());
  Layout layout{.dtype = dtype,
                .shape = shape,
                .strides = strides,
                .order = *any_order(),
                .offset = before + static_cast<std::size_t>(-low)};
  if (*rc::gen::arbitrary<bool>()) {
    layout.strides = std::nullopt;
    layout.offset = before;
    memory = must(Memory::zeros(before + count_of(shape) * dtype.itemsize() + behind));
    fill_with_pattern(memory->bytes());
  }
  return must(Array::over(std::move(memory), std::move(layout)));
}

Array any_view(const Array& array) {
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return must(array.transpose());
    case 1: {
      const auto slices = *rc::gen::container<std::vector<Slice>>(array.ndim(), any_slice());
      return must(array.slice(slices));
    }
    case 2: {
      Shape to = array.shape();
      for (std::size_t& length : to) {
        length = length == 1 ? *rc::gen::inRange<std::size_t>(0, 4) : length;
      }
      to.insert(to.begin(), *rc::gen::inRange<std::size_t>(0, 3));
      return must(array.broadcast_to(to));
    }
    default: {
      const auto reshaped = array.reshape(*shape_of(array.size()), *any_order());
      return reshaped ? *reshaped : array;
    }
  }
}

}  // namespace lastref::pretend
