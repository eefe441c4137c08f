// Reduction: the value that travels instead of an array, and its encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <lastref/array.hpp>
#include <lastref/dtype.hpp>
#include <lastref/error.hpp>
#include <lastref/memory.hpp>
#include <lastref/os.hpp>
#include <lastref/resource.hpp>

namespace lastref {

/// A view of an existing file.
///
/// Example: the data of a mapped C-ordered 4 x 2 array of "<i4" start at byte 128 of the file. Its
/// rows 3 and 1 are offset 136, shape (2, 2), strides (-16, 4), total_buffer_len 24.
///
/// Source          joblib _memmapping_reducer.py, _strided_from_memmap.
struct StridedFromMemmap {
  std::string filename;  ///< Absolute.
  DType dtype;
  MapMode mode = MapMode::read;  ///< "r+" instead of "w+"; never "c".
  std::uint64_t offset = 0;      ///< bytes, in the file: start of the lowest element
  Order order = Order::c;        ///< Of the elements, if there are no strides.
  Shape shape;
  std::optional<Strides> strides = {};  ///< bytes; none if the view is contiguous in `order`
  /// bytes that the view spans; given with strides.
  /// Differs: joblib counts elements, which is not enough for views not aligned to elements.
  std::optional<std::size_t> total_buffer_len = {};
  /// Whether the receiver takes a reference before it maps, and releases it after its last view.
  bool unlink = false;
  /// The file that the sender has mapped, if known: the name may refer to another file by now.
  std::optional<Identity> identity = {};

  bool operator==(const StridedFromMemmap&) const = default;
};

/// A file that was created to transfer the array.
///
/// Source          joblib numpy_pickle.py, load_temporary_memmap.
struct LoadTemporaryMemmap {
  std::string filename;  ///< Absolute.
  MapMode mode = MapMode::read;
  bool unlink_on_gc_collect = true;
  /// The shape to broadcast to, if the file has the elements of a broadcast view once.
  std::optional<Shape> repeated_to = {};

  bool operator==(const LoadTemporaryMemmap&) const = default;
};

/// The elements themselves, once, contiguous in either order.
struct ByValue {
  Array elements;
  std::optional<Shape> repeated_to = {};  ///< As above.
};

using Reduction = std::variant<StridedFromMemmap, LoadTemporaryMemmap, ByValue>;

/// Errors          not_supported: elements that point into one Python.
Result<std::vector<std::byte>> encode_reduction(const Reduction& reduction);

/// Invalid bytes are refused before memory is allocated for them.
///
/// Errors          bad_message, with the reason as subject; value_too_large: an array that no
///                 memory can hold; not_enough_memory.
Result<Reduction> decode_reduction(os::Bytes bytes);

}  // namespace lastref
