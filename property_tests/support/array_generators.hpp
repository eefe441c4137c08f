// Generators of arrays and what they are made of.
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

/// Of a given number of elements.
rc::Gen<Shape> shape_of(std::size_t count);

/// Over new memory that is filled with the pattern and not much larger than it has to be, with
/// strides of any kind.
Array any_array(const DType& dtype);

/// A random view of an array.
Array any_view(const Array& array);

}  // namespace lastref::pretend
