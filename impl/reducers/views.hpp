// views: distinguishes arrays from the memory that they view. Pure, except that it checks which
// file has the path of a map.
#pragma once

#include <optional>

#include <lastref/reducers.hpp>

namespace lastref::reducers {

/// The file that receivers can map instead of the array; none if it is mapped copy-on-write,
/// because its stores stay in this process.
const FileMap* file_of(const Array& array) noexcept;

/// The array as a view of its file; none if the path of its map no longer leads to that file,
/// because it is missing or another file has the name. Only for an array with a file.
/// Errors          of status_at, except that there is no file.
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
