// Array: an n-dimensional view of Memory, as numpy's ndarray is one.
//
// An Array is a handle: copies of it are the same array, and the array goes with its last handle. A
// view is an array of its own, which keeps the one it is based on.
//
// What a newcomer would get wrong:
// - Strides are bytes, of either sign and zero. `data()` is the element at index 0 of every axis,
//   which need not be the one with the lowest address; that is what `bounds()` tells.
// - A view of a view is based on the root of both, as in numpy: `base()` is none, or has none.
// - An axis of length 1 takes no part in contiguity, and an array without elements is contiguous in
//   both orders, whatever its strides.
// - Handles may be used by many threads; the elements are as shared as any memory.
//
// For example rows 3 and 1 of a C-ordered 4 x 2 array of "<i4" have shape (2, 2), strides (-16, 4)
// and bounds from byte 8 to byte 32 of their base, where data() is 24.
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

/// Axes of one array.
inline constexpr std::size_t dims_max = 32;

/// Which index moves fastest: the last one (c) or the first one (f).
enum class Order : std::uint8_t { c, f };

/// Python's start:stop:step.
struct Slice {
  std::optional<std::ptrdiff_t> start = {};
  std::optional<std::ptrdiff_t> stop = {};
  std::ptrdiff_t step = 1;
};

/// How an array lies in memory.
struct Layout {
  DType dtype;
  Shape shape;
  std::optional<Strides> strides = {};  ///< None: contiguous, in `order`.
  Order order = Order::c;
  std::size_t offset = 0;  ///< bytes, from the start of the memory to `data()`
};

class Array {
 public:
  /// New memory.
  ///
  /// Errors          value_too_large: more bytes than there are addresses, or too many axes;
  ///                 not_enough_memory.
  static Result<Array> zeros(DType dtype, Shape shape, Order order = Order::c);

  /// All or some of the memory.
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
  /// False of what was mapped to be read, of strangers' constants, of broadcast views, and of what
  /// `read_only` gave.
  bool writable() const noexcept;
  /// Whether a store is seen by all that have the memory, in other processes too: a map in "r+" or
  /// "w+", or one without a file.
  bool is_shared() const noexcept;

  const std::byte* data() const noexcept;
  /// The same, to be written to.
  ///
  /// Errors          permission_denied: it is not writable. A copy is.
  Result<std::byte*> mutable_data() const;
  /// bytes, from the start of the memory to `data()`
  std::size_t offset() const noexcept;
  /// From the lowest byte of any element to the highest; nothing at `data()` if there are none.
  os::Bytes bounds() const noexcept;

  const MemoryRef& memory() const noexcept;
  /// The array that this one is a view of.
  std::optional<Array> base() const;
  /// Dies with the last handle; equal (by owner) for handles of the same array alone.
  using Identity = std::weak_ptr<const void>;
  Identity identity() const noexcept;
  /// `action` is called once, when the last handle has gone, by whoever had it; the array is not
  /// there any more. Last asked for, first called. Once a `listener` is given and has gone, nobody
  /// waits for that: the action goes when the next one comes.
  ///
  /// Errors          not_enough_memory: it will not be called.
  Status when_gone(std::function<void()> action,
                   std::optional<std::weak_ptr<const void>> listener = {}) const;
  /// A handle of the same array that cannot be written by, nor by views that are made of it.
  Array read_only() const noexcept;
  /// Whether both are handles of the same array.
  bool is(const Array& other) const noexcept { return node_ == other.node_; }

  /// One slice for each axis, from the first; all of what is left.
  ///
  /// Errors          invalid_argument: more slices than axes, or a step of 0.
  Result<Array> slice(std::span<const Slice> slices) const;

  /// Without `axis`, at one index of it; a negative one counts from the end.
  ///
  /// Errors          invalid_argument: no such axis; result_out_of_range: no such index.
  Result<Array> pick(std::size_t axis, std::ptrdiff_t index) const;

  /// Axes the other way round.
  ///
  /// Errors          not_enough_memory.
  Result<Array> transpose() const;

  /// Axis i is what axis axes[i] was.
  ///
  /// Errors          invalid_argument: not each axis once.
  Result<Array> transpose(std::span<const std::size_t> axes) const;

  /// Errors          invalid_argument: no such axis.
  Result<Array> swapaxes(std::size_t one, std::size_t other) const;

  /// Axes of length 1 repeated, and new ones in front. Not writable.
  ///
  /// Errors          invalid_argument: an axis of another length; value_too_large, as in `zeros`.
  Result<Array> broadcast_to(const Shape& to) const;

  /// The same elements, counted in `order`, in another shape, where no copy is needed.
  ///
  /// Errors          invalid_argument: another number of elements; not_supported: it takes a copy;
  ///                 value_too_large: too many axes.
  Result<Array> reshape(const Shape& to, Order order = Order::c) const;

  /// Any view within this one's bounds; `offset` is in bytes, from this one's `data()`.
  ///
  /// Errors          invalid_argument: not one stride for each axis; value_too_large, as in
  ///                 `zeros`; result_out_of_range: an element would lie outside of the bounds.
  Result<Array> as_strided(Shape to, Strides steps, std::ptrdiff_t offset = 0) const;

  /// bytes, from `data()` to an element; negative indices count from the end.
  ///
  /// Errors          invalid_argument: not one index for each axis; result_out_of_range.
  Result<std::ptrdiff_t> item_offset(std::span<const std::ptrdiff_t> index) const;

  /// New memory with the same elements, contiguous.
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

/// Whether dtype, shape and the bytes of every element are the same. So a NaN equals itself, and
/// zeros of either sign differ.
bool contents_equal(const Array& one, const Array& other);

}  // namespace lastref
