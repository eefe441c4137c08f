// Array: an n-dimensional view of Memory, like numpy's ndarray.
//
// An Array is a handle: copies of it are the same array, and the array is destroyed with its last
// handle. A view is an array of its own, which keeps the array that it is based on.
//
// Pitfalls:
// - Strides are in bytes, and may be negative or zero. `data()` is the element at index 0 of every
//   axis. It need not have the lowest address; see `bounds()` for that.
// - A view of a view is based on the root of both, as in numpy: `base()` is none, or has no base.
// - An axis of length 1 does not affect contiguity. An array without elements is contiguous in both
//   orders, whatever its strides.
// - Many threads may use handles; access to the elements is as unprotected as to any memory.
//
// Example: rows 3 and 1 of a C-ordered 4 x 2 array of "<i4" have shape (2, 2), strides (-16, 4) and
// bounds from byte 8 to byte 32 of their base, where data() is byte 24.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <lastref/dtype.hpp>
#include <lastref/error.hpp>
#include <lastref/memory.hpp>
#include <lastref/os.hpp>

namespace lastref {

using Shape = std::vector<std::size_t>;       ///< elements
using Strides = std::vector<std::ptrdiff_t>;  ///< bytes

/// Maximum number of axes of an array.
inline constexpr std::size_t dims_max = 32;

/// Which index varies fastest: the last one (c) or the first one (f).
enum class Order : std::uint8_t { c, f };

/// Python's start:stop:step.
struct Slice {
  std::optional<std::ptrdiff_t> start = {};
  std::optional<std::ptrdiff_t> stop = {};
  std::ptrdiff_t step = 1;
};

/// The layout of an array in memory.
struct Layout {
  DType dtype;
  Shape shape;
  std::optional<Strides> strides = {};  ///< None: contiguous, in `order`.
  Order order = Order::c;
  std::size_t offset = 0;  ///< bytes, from the start of the memory to `data()`
};

class Array {
 public:
  /// Returns an array of zeros in new memory.
  ///
  /// Errors          value_too_large: more bytes than there are addresses, or too many axes;
  ///                 not_enough_memory.
  static Result<Array> zeros(DType dtype, Shape shape, Order order = Order::c);

  /// Returns an array over all or some of the memory.
  ///
  /// Errors          value_too_large, as above; invalid_argument: not one stride for each axis;
  ///                 result_out_of_range: an element would lie outside of the memory.
  static Result<Array> over(MemoryRef memory, Layout layout);

  const DType& dtype() const noexcept;
  const Shape& shape() const noexcept;
  const Strides& strides() const noexcept;
  std::size_t ndim() const noexcept { return shape().size(); }
  /// elements
  std::size_t size() const noexcept;
  /// bytes of all elements; more than the array spans if a stride is 0
  std::size_t nbytes() const noexcept { return size() * dtype().itemsize(); }

  bool is_c_contiguous() const noexcept { return is_contiguous(Order::c); }
  bool is_f_contiguous() const noexcept { return is_contiguous(Order::f); }
  bool is_contiguous(Order order) const noexcept;
  /// False for read-only maps, for borrowed constant bytes, for broadcast views, and for handles
  /// that `read_only` returned.
  bool writable() const noexcept;
  /// Whether all holders of the memory see a store, in other processes too. True for a map in "r+"
  /// or "w+", and for a map without a file.
  bool is_shared() const noexcept;

  const std::byte* data() const noexcept;
  /// As `data`, for writing.
  ///
  /// Errors          permission_denied: the array is not writable. A copy is.
  Result<std::byte*> mutable_data() const;
  /// bytes, from the start of the memory to `data()`
  std::size_t offset() const noexcept;
  /// From the lowest byte of any element to the highest; empty, at `data()`, if there are none.
  os::Bytes bounds() const noexcept;

  const MemoryRef& memory() const noexcept;
  /// The array that this one is a view of.
  std::optional<Array> base() const;
  /// Expires with the last handle. Equal (by owner) only for handles of the same array.
  using Identity = std::weak_ptr<const void>;
  Identity identity() const noexcept;
  /// Registers an action. The thread that destroys the last handle calls it once; the array does
  /// not exist any more then. Actions are called in reverse order of registration. If a `listener`
  /// is given and has expired, the next registration drops the action.
  ///
  /// Errors          not_enough_memory: the action will not be called.
  Status when_gone(std::function<void()> action,
                   std::optional<std::weak_ptr<const void>> listener = {}) const;
  /// Returns a read-only handle of the same array. Views that are made from it are read-only too.
  Array read_only() const noexcept;
  /// Whether both are handles of the same array.
  bool is(const Array& other) const noexcept { return node_ == other.node_; }

  /// Applies one slice to each axis, from the first; takes the remaining axes whole.
  ///
  /// Errors          invalid_argument: more slices than axes, or a step of 0.
  Result<Array> slice(std::span<const Slice> slices) const;

  /// Removes `axis` by choosing one index of it. A negative index counts from the end.
  ///
  /// Errors          invalid_argument: no such axis; result_out_of_range: no such index.
  Result<Array> pick(std::size_t axis, std::ptrdiff_t index) const;

  /// Reverses the order of the axes.
  ///
  /// Errors          not_enough_memory.
  Result<Array> transpose() const;

  /// Axis i of the result is axis axes[i] of this array.
  ///
  /// Errors          invalid_argument: not each axis once.
  Result<Array> transpose(std::span<const std::size_t> axes) const;

  /// Errors          invalid_argument: no such axis.
  Result<Array> swapaxes(std::size_t one, std::size_t other) const;

  /// Repeats axes of length 1, and adds new axes in front. The result is not writable.
  ///
  /// Errors          invalid_argument: an axis of another length; value_too_large, as in `zeros`.
  Result<Array> broadcast_to(const Shape& to) const;

  /// Returns the same elements, counted in `order`, in another shape, if that needs no copy.
  ///
  /// Errors          invalid_argument: another number of elements; not_supported: it needs a copy;
  ///                 value_too_large: too many axes.
  Result<Array> reshape(const Shape& to, Order order = Order::c) const;

  /// Returns any view within the bounds of this array. `offset` is in bytes, from `data()`.
  ///
  /// Errors          invalid_argument: not one stride for each axis; value_too_large, as in
  ///                 `zeros`; result_out_of_range: an element would lie outside of the bounds.
  Result<Array> as_strided(Shape to, Strides steps, std::ptrdiff_t offset = 0) const;

  /// bytes, from `data()` to an element; negative indices count from the end.
  ///
  /// Errors          invalid_argument: not one index for each axis; result_out_of_range.
  Result<std::ptrdiff_t> item_offset(std::span<const std::ptrdiff_t> index) const;

  /// Returns a contiguous copy of the elements in new memory.
  ///
  /// Errors          not_enough_memory.
  Result<Array> copy(Order order = Order::c) const;

 private:
  struct Node;
  explicit Array(std::shared_ptr<const Node> node, bool is_read_only = false) noexcept
      : node_(std::move(node)), is_read_only_(is_read_only) {}
  Array view(Shape shape, Strides strides, std::ptrdiff_t offset) const;
  static Result<Array> fresh(Result<MemoryRef> (*make)(std::size_t), Layout layout);

  std::shared_ptr<const Node> node_;
  bool is_read_only_ = false;
};

/// Whether dtype, shape and the bytes of every element are equal. So a NaN equals itself, and zeros
/// of different sign differ.
bool contents_equal(const Array& one, const Array& other);

}  // namespace lastref
