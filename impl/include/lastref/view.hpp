// View: a typed view of an array: indices in parentheses, rows as spans.
//
//   View<double, 2> matrix = ...;
//   matrix(1, 2) = 3;
//   for (double each : matrix.row(1)) ...
//
// A view is a handle, as Array is: copies view the same elements, and the memory exists until its
// last handle is destroyed. A view of constant elements is read-only.
//
// Pitfalls:
// - The elements of the last axis are adjacent. `flat` needs all of them to be adjacent.
// - An index out of range ends the program, as any mistake does.
#pragma once

#include <array>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <lastref/array.hpp>
#include <lastref/codec.hpp>
#include <lastref/error.hpp>

namespace lastref {

template <typename T>
inline constexpr bool is_complex = false;
template <typename T>
inline constexpr bool is_complex<std::complex<T>> = true;

/// The dtype of elements of that type. A struct is raw bytes.
///
/// Errors          value_too_large: an element of 2 GiB or more.
template <typename T>
requires std::is_trivially_copyable_v<T> Result<DType> dtype_of() {
  const std::string order = sizeof(T) == 1 ? "|" : "<";
  const std::string size = std::to_string(sizeof(T));
  if constexpr (std::same_as<T, bool>) {
    return DType::parse("|b" + size);
  } else if constexpr (std::floating_point<T>) {
    return DType::parse(order + "f" + size);
  } else if constexpr (std::integral<T>) {
    return DType::parse(order + (std::is_signed_v<T> ? "i" : "u") + size);
  } else if constexpr (is_complex<T>) {
    return DType::parse(order + "c" + size);
  } else {
    return DType::parse("|V" + size);
  }
}

template <typename T, std::size_t rank>
class View {
  static_assert(rank > 0);

 public:
  using Element = std::remove_const_t<T>;

  /// Returns a view of the array.
  ///
  /// Errors          invalid_argument: another dtype or number of axes; permission_denied: the
  ///                 elements are not constant, and the array is read-only; not_supported: the
  ///                 elements of the last axis are not adjacent, or not aligned.
  static Result<View> of(Array array) {
    LASTREF_TRY(dtype, dtype_of<Element>());
    if (array.dtype() != dtype || array.ndim() != rank) {
      return failure(std::errc::invalid_argument,
                     "expected an array of " + dtype.text() + " with " + std::to_string(rank) +
                         " axes, observed one of " + array.dtype().text() + " with " +
                         std::to_string(array.ndim()));
    }
    if constexpr (!std::is_const_v<T>) {
      LASTREF_CHECK(array.mutable_data());
    }
    View view(std::move(array));
    if (!view.is_regular()) {
      return failure(std::errc::not_supported, "an array with elements that are not adjacent");
    }
    return view;
  }

  T& operator()(std::integral auto... indices) const {
    static_assert(sizeof...(indices) == rank, "one index for each axis");
    const std::array<std::size_t, rank> index{static_cast<std::size_t>(indices)...};
    std::ptrdiff_t offset = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      LASTREF_ASSERT(index[axis] < shape_[axis]);
      offset += static_cast<std::ptrdiff_t>(index[axis]) * strides_[axis];
    }
    return *at(offset);
  }

  /// The elements of the last axis at indices of the other ones.
  std::span<T> row(std::integral auto... indices) const {
    static_assert(sizeof...(indices) + 1 == rank, "one index for each axis but the last");
    if (shape_[rank - 1] == 0) {
      return {};
    }
    return {&(*this)(indices..., 0), shape_[rank - 1]};
  }

  /// All elements, the last axis fastest. They must be adjacent.
  std::span<T> flat() const {
    LASTREF_ASSERT(array_.is_c_contiguous());
    return {at(0), size()};
  }

  /// The number of indices of an axis.
  std::size_t extent(std::size_t axis) const noexcept { return shape_[axis]; }
  const std::array<std::size_t, rank>& shape() const noexcept { return shape_; }
  /// bytes
  std::ptrdiff_t stride(std::size_t axis) const noexcept { return strides_[axis]; }
  std::size_t size() const noexcept { return array_.size(); }
  T* data() const noexcept { return at(0); }

  /// The same elements, as constants.
  View<const Element, rank> read_only() const noexcept {
    return View<const Element, rank>(array_.read_only());
  }
  // NOLINTNEXTLINE(google-explicit-constructor): as a pointer is one to constants.
  operator View<const Element, rank>() const noexcept requires(!std::is_const_v<T>) {
    return read_only();
  }

  /// The array, for calls that need no type.
  const Array& array() const noexcept { return array_; }

 private:
  template <typename, std::size_t>
  friend class View;

  explicit View(Array array) noexcept : array_(std::move(array)) {
    for (std::size_t axis = 0; axis < rank; ++axis) {
      shape_[axis] = array_.shape()[axis];
      strides_[axis] = array_.strides()[axis];
    }
  }

  T* at(std::ptrdiff_t offset) const noexcept {
    // `of` has checked that the array is writable if the elements are not constant.
    return reinterpret_cast<T*>(const_cast<std::byte*>(array_.data()) + offset);
  }

  bool is_regular() const noexcept {
    bool is_aligned = reinterpret_cast<std::uintptr_t>(array_.data()) % alignof(T) == 0;
    for (const std::ptrdiff_t stride : strides_) {
      is_aligned = is_aligned && stride % static_cast<std::ptrdiff_t>(alignof(T)) == 0;
    }
    return size() == 0 || (is_aligned && (shape_[rank - 1] == 1 ||
                                          strides_[rank - 1] == std::ptrdiff_t{sizeof(T)}));
  }

  Array array_;
  std::array<std::size_t, rank> shape_{};
  std::array<std::ptrdiff_t, rank> strides_{};  ///< bytes
};

template <typename T, std::size_t rank>
inline constexpr bool is_handle<View<T, rank>> = true;

template <typename T, std::size_t rank>
struct Codec<View<T, rank>> {
  static void write(Writer& to, const View<T, rank>& view) { to.write(view.array()); }
  static Result<View<T, rank>> read(Reader& from) {
    LASTREF_TRY(array, from.read<Array>());
    return View<T, rank>::of(std::move(array));
  }
};

}  // namespace lastref
