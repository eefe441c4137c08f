#include "impl/reducers/views.hpp"

#include <utility>

#include "impl/array/layout.hpp"

namespace lastref {

std::optional<Array> backing_memmap(const Array& array) {
  const Origin origin = array.memory()->origin();
  if (origin != Origin::file_map && origin != Origin::anonymous_map) {
    return std::nullopt;
  }
  return array.base().value_or(array);
}

bool has_shareable_memory(const Array& array) {
  return backing_memmap(array).has_value();
}

namespace {

/// Whether the error means that no other process will find the file there either.
bool is_out_of_sight(std::errc code) {
  return code == std::errc::no_such_file_or_directory || code == std::errc::not_a_directory ||
         code == std::errc::filename_too_long || code == std::errc::too_many_symbolic_link_levels;
}

/// Whether the path of the map still leads to the file.
Result<bool> is_there(os::Os& os, const FileMap& file) {
  if (!file.path.starts_with('/')) {
    return false;  // It is in a folder that was open; the path of that is unknown.
  }
  const auto there = os.status_at(file.path);
  if (!there) {
    return is_out_of_sight(there.error().code) ? Result<bool>(false) : failure(there.error());
  }
  return is_same(os::identity_of(*there), file.identity);
}

}  // namespace

namespace reducers {

const FileMap* file_of(const Array& array) noexcept {
  const std::optional<FileMap>& file = array.memory()->file();
  return file && file->mode != MapMode::copy_on_write ? &*file : nullptr;
}

Result<std::optional<StridedFromMemmap>> reduce_view(os::Os& os, const Array& array) {
  const FileMap& file = *file_of(array);
  LASTREF_TRY(there, is_there(os, file));
  if (!there) {
    return std::optional<StridedFromMemmap>();
  }
  const Array map = array.base().value_or(array);
  const os::Bytes bounds = array.bounds();
  StridedFromMemmap view{
      .filename = file.path,
      .dtype = array.dtype(),
      .mode = file.mode == MapMode::create ? MapMode::read_write : file.mode,
      .offset =
          file.offset + static_cast<std::uint64_t>(bounds.data() - array.memory()->bytes().data()),
      .order = map.is_f_contiguous() && !map.is_c_contiguous() ? Order::f : Order::c,
      .shape = array.shape(),
      .identity = file.identity};
  if (!array.writable()) {
    view.mode = MapMode::read;  // As a broadcast view of what can be written to.
  }
  if (!array.is_contiguous(view.order)) {
    view.strides = array.strides();
    view.total_buffer_len = bounds.size();
  }
  return std::optional(std::move(view));
}

Result<Once> without_repeats(const Array& array) {
  Shape shape = array.shape();
  bool repeats = false;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (array.strides()[axis] == 0 && shape[axis] > 1 && array.size() > 0) {
      shape[axis] = 1;
      repeats = true;
    }
  }
  if (!repeats) {
    return Once{.elements = array};
  }
  // Within the bounds of the array, so only memory can be lacking.
  LASTREF_TRY(elements, array.as_strided(std::move(shape), array.strides()));
  return Once{.elements = std::move(elements), .repeated_to = array.shape()};
}

Result<Sent> by_value(const Array& array) {
  LASTREF_TRY(once, without_repeats(array));
  return Sent{.reduction = ByValue{.elements = std::move(once.elements),
                                   .repeated_to = std::move(once.repeated_to)}};
}

}  // namespace reducers
}  // namespace lastref
