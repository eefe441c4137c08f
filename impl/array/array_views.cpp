// Views of arrays. A view that is made from axes, lengths and steps of another is within it by
// construction; only as_strided has to check.
#include <algorithm>
#include <numeric>
#include <utility>

#include <lastref/array.hpp>

#include "impl/array/array_node.hpp"
#include "impl/array/layout.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref {
namespace {

tl::unexpected<Error> wrong(const char* reason) {
  return failure(std::errc::invalid_argument, reason);
}

tl::unexpected<Error> outside(const char* reason) {
  return failure(std::errc::result_out_of_range, reason);
}

/// An index of an axis, counted from its start.
Result<std::ptrdiff_t> index_along(std::size_t length, std::ptrdiff_t index) {
  const auto end = static_cast<std::ptrdiff_t>(length);
  if (index < -end || index >= end) {
    return outside("an index beyond its axis");
  }
  return index < 0 ? index + end : index;
}

}  // namespace

Array Array::view(Shape shape, Strides strides, std::ptrdiff_t offset) const {
  const auto size = array::size_of(shape, dtype().itemsize());
  LASTREF_ASSERT(size.has_value());
  return Array(std::make_shared<const Node>(Node{.dtype = dtype(),
                                                 .shape = std::move(shape),
                                                 .strides = std::move(strides),
                                                 .size = *size,
                                                 .data = node_->data + offset,
                                                 .writable = node_->writable,
                                                 .memory = node_->memory,
                                                 .base = node_->base ? node_->base : node_}),
               is_read_only_);
}

Result<Array> Array::slice(std::span<const Slice> slices) const {
  return os::within_memory("a view", [&]() -> Result<Array> {
    if (slices.size() > ndim()) {
      return wrong("more slices than axes");
    }
    Shape to = shape();
    Strides steps = strides();
    std::ptrdiff_t offset = 0;
    for (std::size_t axis = 0; axis < slices.size(); ++axis) {
      if (slices[axis].step == 0) {
        return wrong("a step of 0");
      }
      const array::Sliced sliced = array::slice_of(to[axis], slices[axis]);
      to[axis] = sliced.count;
      // An array without elements may have any strides, with which no offset can be calculated.
      if (size() > 0) {
        offset += sliced.first * steps[axis];
        steps[axis] *= sliced.count > 1 ? slices[axis].step : 1;
      }
    }
    return view(std::move(to), std::move(steps), offset);
  });
}

Result<Array> Array::pick(std::size_t axis, std::ptrdiff_t index) const {
  return os::within_memory("a view", [&]() -> Result<Array> {
    if (axis >= ndim()) {
      return wrong("no such axis");
    }
    LASTREF_TRY(picked, index_along(shape()[axis], index));
    Shape to = shape();
    Strides steps = strides();
    to.erase(to.begin() + static_cast<std::ptrdiff_t>(axis));
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(axis));
    return view(std::move(to), std::move(steps), size() == 0 ? 0 : picked * strides()[axis]);
  });
}

Result<Array> Array::transpose() const {
  return os::within_memory("a view", [&]() -> Result<Array> {
    return view(
        Shape(shape().rbegin(), shape().rend()), Strides(strides().rbegin(), strides().rend()), 0);
  });
}

Result<Array> Array::transpose(std::span<const std::size_t> axes) const {
  return os::within_memory("a view", [&]() -> Result<Array> {
    if (axes.size() != ndim()) {
      return wrong("not each axis once");
    }
    Shape to;
    Strides steps;
    for (const std::size_t axis : axes) {
      if (axis >= ndim() || std::ranges::count(axes, axis) != 1) {
        return wrong("not each axis once");
      }
      to.push_back(shape()[axis]);
      steps.push_back(strides()[axis]);
    }
    return view(std::move(to), std::move(steps), 0);
  });
}

Result<Array> Array::swapaxes(std::size_t one, std::size_t other) const {
  return os::within_memory("a view", [&]() -> Result<Array> {
    if (one >= ndim() || other >= ndim()) {
      return wrong("no such axis");
    }
    Shape to = shape();
    Strides steps = strides();
    std::swap(to[one], to[other]);
    std::swap(steps[one], steps[other]);
    return view(std::move(to), std::move(steps), 0);
  });
}

Result<Array> Array::broadcast_to(const Shape& to) const {
  return os::within_memory("a view", [&]() -> Result<Array> {
    LASTREF_CHECK(array::size_of(to, dtype().itemsize()));
    if (to.size() < ndim()) {
      return wrong("fewer axes than before");
    }
    Strides steps(to.size(), 0);
    const std::size_t more = to.size() - ndim();
    for (std::size_t axis = 0; axis < ndim(); ++axis) {
      const std::size_t length = shape()[axis];
      if (length == to[more + axis]) {
        steps[more + axis] = strides()[axis];
      } else if (length != 1) {
        return wrong("an axis of another length");
      }
    }
    const Array made = view(to, std::move(steps), 0);
    Node node = *made.node_;
    node.writable = false;  // Elements at the same address would change together.
    return Array(std::make_shared<const Node>(std::move(node)), is_read_only_);
  });
}

Result<Array> Array::reshape(const Shape& to, Order order) const {
  return os::within_memory("a view", [&]() -> Result<Array> {
    LASTREF_TRY(count, array::size_of(to, dtype().itemsize()));
    if (count != size()) {
      return wrong("another number of elements");
    }
    auto steps = array::reshaped(shape(), strides(), dtype().itemsize(), to, order);
    if (!steps) {
      return failure(std::errc::not_supported, "it takes a copy");
    }
    return view(to, std::move(*steps), 0);
  });
}

Result<Array> Array::as_strided(Shape to, Strides steps, std::ptrdiff_t offset) const {
  return os::within_memory("a view", [&]() -> Result<Array> {
    LASTREF_CHECK(array::size_of(to, dtype().itemsize()));
    if (to.size() != steps.size()) {
      return wrong("not one stride for each axis");
    }
    const auto mine = array::extent_of(shape(), strides(), dtype().itemsize());
    const auto extent = array::extent_of(to, steps, dtype().itemsize());
    const bool starts_inside = offset >= mine->low && offset <= mine->high;
    if (!starts_inside || !extent || extent->low < mine->low - offset ||
        extent->high > mine->high - offset) {
      return outside("an element outside of the bounds");
    }
    return view(std::move(to), std::move(steps), offset);
  });
}

Result<std::ptrdiff_t> Array::item_offset(std::span<const std::ptrdiff_t> index) const {
  return os::within_memory("an index", [&]() -> Result<std::ptrdiff_t> {
    if (index.size() != ndim()) {
      return wrong("not one index for each axis");
    }
    std::ptrdiff_t offset = 0;
    for (std::size_t axis = 0; axis < ndim(); ++axis) {
      LASTREF_TRY(along, index_along(shape()[axis], index[axis]));
      offset += size() == 0 ? 0 : along * strides()[axis];
    }
    return offset;
  });
}

}  // namespace lastref
