// Model: the offset of every element of an array, listed one by one. Arrays compute with strides;
// the model uses a table of offsets.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <lastref/array.hpp>

namespace lastref {

void PrintTo(const Slice& slice, std::ostream* out);
std::ostream& operator<<(std::ostream& out, const Slice& slice);

}  // namespace lastref

namespace lastref::pretend {

using Index = std::vector<std::size_t>;

/// The number of elements of a shape; for small shapes only.
std::size_t count_of(const Shape& shape);
/// The k-th index of a shape, counted in an order.
Index index_of(const Shape& shape, std::size_t k, Order order = Order::c);

struct Model {
  Shape shape;
  std::vector<std::ptrdiff_t> at;  ///< Bytes from the start of the memory; in C order.

  bool operator==(const Model&) const = default;

  std::ptrdiff_t at_index(const Index& index) const;
  /// The offsets in the given order.
  std::vector<std::ptrdiff_t> counted(Order order) const;
  /// A model of another shape with elements of this one.
  Model with(const Shape& other, const std::function<Index(const Index&)>& index_here) const;

  Model slice(const std::vector<Slice>& slices) const;
  Model pick(std::size_t axis, std::size_t picked) const;
  Model transpose(const std::vector<std::size_t>& axes) const;
  Model broadcast_to(const Shape& other) const;
  Model reshape(const Shape& other, Order order) const;
  /// Whether strides can express the offsets.
  bool is_strided() const;
  /// Whether the elements are adjacent, in that order.
  bool is_contiguous(std::size_t itemsize, Order order) const;
};

/// Built element by element, with `item_offset`.
Model model_of(const Array& array);

/// The indices of an axis that a slice selects, as the Python reference defines it: start + n *
/// step.
std::vector<std::size_t> indices_of(std::size_t length, const Slice& slice);

/// The bytes of all elements, in C order.
std::vector<std::byte> elements_of(const Array& array);

/// The byte of the pattern for an offset: it shows where the byte is.
std::byte pattern(std::size_t at);
void fill_with_pattern(os::Buffer bytes);

DType dtype_of(std::string_view text);

/// The value; if there is none, a failed test or property that shows the error.
template <typename T>
T must(Result<T> result) {
  if (!result) {
    throw std::runtime_error(describe(result.error()));
  }
  if constexpr (!std::is_void_v<T>) {
    return *std::move(result);
  }
}

}  // namespace lastref::pretend
