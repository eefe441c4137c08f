// Generators of arrays and of their shapes, dtypes, slices and orders.
#pragma once

#include <string>
#include <vector>

#include <rapidcheck.h>

#include <lastref/array.hpp>

namespace lastref::pretend {

/// Up to `dims` axes of a length up to `length`, 0 and 1 included.
rc::Gen<Shape> any_shape(std::size_t dims = 4, std::size_t length = 4);
/// Scalars of each kind and size, and structures; none with objects.
rc::Gen<std::string> any_dtype_text();
rc::Gen<Slice> any_slice();
rc::Gen<Order> any_order();

/// A shape with `count` elements.
rc::Gen<Shape> shape_of(std::size_t count);

/// An array over new memory that is filled with the pattern and is not much larger than needed,
/// with strides of any kind.
Array any_array(const DType& dtype);

/// A random view of an array.
Array any_view(const Array& array);

}  // namespace lastref::pretend
