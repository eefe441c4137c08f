// views: how arrays are told apart from the memory that they view. Pure, but for the working
// folder.
#pragma once

#include <optional>

#include <lastref/reducers.hpp>

namespace lastref::reducers {

/// The file that receivers can map in place of the array; none if it is mapped copy-on-write, for
/// what was stored stays here.
const FileMap* file_of(const Array& array) noexcept;

/// The array as a view of its file. Only with a file.
///
/// Errors          what working_folder said, for a map with a relative path.
Result<StridedFromMemmap> reduce_view(os::Os& os, const Array& array);

/// An array without the axes along which its elements repeat, and its shape with them.
struct Once {
  Array elements;
  std::optional<Shape> repeated_to = {};
};
Once without_repeats(const Array& array);

Sent by_value(const Array& array);

}  // namespace lastref::reducers
