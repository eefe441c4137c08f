// layout: the arithmetic of shapes and strides. Pure, and checked: no sum or product wraps.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include <lastref/array.hpp>

namespace lastref::array {

using ShapeView = std::span<const std::size_t>;
using StridesView = std::span<const std::ptrdiff_t>;

/// Elements, all of which together have bytes that can be counted. So has any array with fewer
/// elements along some axes.
///
/// Errors          value_too_large: too many axes, or too many bytes if axes of length 0 had 1.
Result<std::size_t> size_of(ShapeView shape, std::size_t itemsize);

/// The strides of a contiguous array; size_of has let its shape pass.
Strides contiguous_strides(ShapeView shape, std::size_t itemsize, Order order);
bool is_contiguous(ShapeView shape,
                   StridesView strides,
                   std::size_t itemsize,
                   Order order) noexcept;

/// bytes, from the element at index 0: of the lowest element's first byte, and behind the last byte
/// of the highest.
struct Extent {
  std::ptrdiff_t low = 0;
  std::ptrdiff_t high = 0;
};

/// Both 0 if there are no elements; none if it cannot be counted, in either direction.
std::optional<Extent> extent_of(ShapeView shape,
                                StridesView strides,
                                std::size_t itemsize) noexcept;

/// What a shape and strides become where a slice is taken.
struct Sliced {
  std::size_t count = 0;
  std::ptrdiff_t first = 0;  ///< index; 0 if there is none
};
Sliced slice_of(std::size_t length, const Slice& slice);

/// The strides with which the same elements have another shape, of as many; none if there are no
/// such strides.
std::optional<Strides> reshaped(
    ShapeView shape, StridesView strides, std::size_t itemsize, ShapeView other, Order order);

}  // namespace lastref::array
