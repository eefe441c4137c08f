// Model: where every element of an array lies, one by one. What arrays do with strides, the model
// does by looking up.
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

/// How many elements a shape has; small ones only.
std::size_t count_of(const Shape& shape);
/// The k-th index of a shape, counted in an order.
Index index_of(const Shape& shape, std::size_t k, Order order = Order::c);

struct Model {
  Shape shape;
  std::vector<std::ptrdiff_t> at;  ///< Bytes from the start of the memory; in C order.

  bool operator==(const Model&) const = default;

  std::ptrdiff_t at_index(const Index& index) const;
  /// The elements in that order, in C order or in the other.
  std::vector<std::ptrdiff_t> counted(Order order) const;
  /// One of another shape, whose elements are elements of this one.
  Model with(const Shape& other, const std::function<Index(const Index&)>& index_here) const;

  Model slice(const std::vector<Slice>& slices) const;
  Model pick(std::size_t axis, std::size_t picked) const;
  Model transpose(const std::vector<std::size_t>& axes) const;
  Model broadcast_to(const Shape& other) const;
  Model reshape(const Shape& other, Order order) const;
  /// Whether strides could say where the elements are.
  bool is_strided() const;
  /// Whether they follow each other, in that order.
  bool is_contiguous(std::size_t itemsize, Order order) const;
};

/// Element by element, with `item_offset`.
Model model_of(const Array& array);

/// The indices of an axis that a slice takes, as the Python reference says: start + n * step.
std::vector<std::size_t> indices_of(std::size_t length, const Slice& slice);

/// The bytes of all elements, in C order.
std::vector<std::byte> elements_of(const Array& array);

/// Bytes that tell where they are.
std::byte pattern(std::size_t at);
void fill_with_pattern(os::Buffer bytes);

DType dtype_of(std::string_view text);

/// The value; a failed test or property, with the error, if there is none.
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
