// layout: the arithmetic of shapes and strides. Pure, and checked: no sum or product wraps.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <lastref/array.hpp>

namespace lastref::array {

using ShapeView = std::span<const std::size_t>;
using StridesView = std::span<const std::ptrdiff_t>;

/// "shape (2, 3)"
std::string to_text(ShapeView shape);

/// The number of elements, if the number of their bytes can be represented. Then it can be for any
/// array with fewer elements along some axes.
///
/// Errors          value_too_large: too many axes, or too many bytes if axes of length 0 had 1.
Result<std::size_t> size_of(ShapeView shape, std::size_t itemsize);

/// The strides of a contiguous array; size_of must have accepted its shape.
Strides contiguous_strides(ShapeView shape, std::size_t itemsize, Order order);
bool is_contiguous(ShapeView shape,
                   StridesView strides,
                   std::size_t itemsize,
                   Order order) noexcept;

/// bytes, from the element at index 0: to the first byte of the lowest element, and to the end of
/// the highest.
struct Extent {
  std::ptrdiff_t low = 0;
  std::ptrdiff_t high = 0;
};

/// Both 0 if there are no elements; none if an offset cannot be represented, in either direction.
std::optional<Extent> extent_of(ShapeView shape,
                                StridesView strides,
                                std::size_t itemsize) noexcept;

/// The part of an axis that a slice takes.
struct Sliced {
  std::size_t count = 0;
  std::ptrdiff_t first = 0;  ///< index; 0 if there is none
};
Sliced slice_of(std::size_t length, const Slice& slice);

/// The strides that give the same elements another shape with the same number of elements; none if
/// there are no such strides.
std::optional<Strides> reshaped(
    ShapeView shape, StridesView strides, std::size_t itemsize, ShapeView other, Order order);

}  // namespace lastref::array
