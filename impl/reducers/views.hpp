// views: how arrays are told apart from the memory that they view. Pure, but for a look at what has
// the path of a map.
#pragma once

#include <optional>

#include <lastref/reducers.hpp>

namespace lastref::reducers {

/// The file that receivers can map in place of the array; none if it is mapped copy-on-write, for
/// what was stored stays here.
const FileMap* file_of(const Array& array) noexcept;

/// The array as a view of its file; none if that cannot be found any more by the path that it was
/// mapped by, which another file may have now. Only with a file.
///
/// Errors          what status_at said, but that there is nothing.
/// Crossings       status_at.
Result<std::optional<StridedFromMemmap>> reduce_view(os::Os& os, const Array& array);

/// An array without the axes along which its elements repeat, and its shape with them.
struct Once {
  Array elements;
  std::optional<Shape> repeated_to = {};
};
///
/// Errors          not_enough_memory.
Result<Once> without_repeats(const Array& array);

/// Errors          not_enough_memory.
Result<Sent> by_value(const Array& array);

}  // namespace lastref::reducers
