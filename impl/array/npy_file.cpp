#include <algorithm>
#include <string>
#include <utility>

#include <lastref/npy.hpp>

#include "impl/array/elements.hpp"
#include "impl/array/npy_open.hpp"
#include "impl/array/npy_start.hpp"
#include "impl/array/own_file.hpp"
#include "impl/array/python_literal.hpp"
#include "impl/os/limits.hpp"
#include "impl/os/with_path.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref {
namespace {

using array::malformed;

bool is_only_f_contiguous(const Array& array) {
  return array.is_f_contiguous() && !array.is_c_contiguous();
}

/// The checks before memory is allocated or mapped for the array of a file.
Status check_elements(const os::FileStatus& status, const NpyHeader& header) {
  if (header.dtype.has_object()) {
    return failure(std::errc::not_supported, "elements that point into one Python");
  }
  if (status.kind != os::FileKind::regular) {
    return malformed("not a regular file");
  }
  if (status.size < header.data_offset || status.size - header.data_offset < header.nbytes) {
    return malformed("the file is shorter than its header requires");
  }
  return ok();
}

/// Begins with `first` bytes, at least npy_start_size(1): a caller that continues to read does not
/// get those after the header.
Result<NpyHeader> read_header(os::Os& os, os::Fd fd, std::size_t first) {
  std::vector<std::byte> bytes(first);
  LASTREF_TRY(count, os::read_until_full(os, fd, bytes));
  bytes.resize(count);
  const bool is_longer =
      count > array::npy_magic.size() && bytes[array::npy_magic.size()] > std::byte{1};
  if (count == array::npy_start_size(1) && is_longer) {
    bytes.resize(array::npy_start_size(2));
    LASTREF_TRY(more, os::read_until_full(os, fd, os::Buffer(bytes).subspan(count)));
    bytes.resize(count + more);
  }
  LASTREF_TRY(start, array::parse_npy_start(bytes));
  const std::size_t size = start.size + start.text_size;
  // The file may claim more text than it has.
  for (bool is_over = false; bytes.size() < size && !is_over;) {
    const std::size_t before = bytes.size();
    const std::size_t wanted = std::min(size - before, os::limits_of(os).header_piece);
    bytes.resize(before + wanted);
    LASTREF_TRY(more, os::read_until_full(os, fd, os::Buffer(bytes).subspan(before)));
    bytes.resize(before + more);
    is_over = more < wanted;
  }
  return parse_npy_header(os::Bytes(bytes).first(std::min(bytes.size(), size)));
}

/// Adds the path to an error about the contents of a file.
template <typename Value>
Result<Value> in_file(const std::string& path, Result<Value> result) {
  if (!result && result.error().call == Call::none) {
    result.error().subject = path + " (" + result.error().subject + ')';
  }
  return result;
}

Layout layout_of(const NpyHeader& header) {
  return {.dtype = header.dtype, .shape = header.shape, .order = header.order};
}

/// Writes the header of the new file, and maps the elements.
Result<MemoryRef> fill_new(
    os::Os& os, os::Fd fd, std::string path, os::Bytes header, std::size_t nbytes) {
  LASTREF_CHECK(os::with_path(path, os::write_all(os, fd, header)));
  return Memory::map_open(
      os, fd, std::move(path), {.mode = MapMode::create, .offset = header.size(), .size = nbytes});
}

}  // namespace

Status write_npy(os::Os& os, os::Fd fd, const Array& array) {
  return os::within_memory("an .npy file", [&]() -> Status {
    const Order order = is_only_f_contiguous(array) ? Order::f : Order::c;
    LASTREF_TRY(header, npy_header(array.dtype(), array.shape(), order));
    LASTREF_CHECK(os::write_all(os, fd, header));
    if (array.is_contiguous(order)) {
      return os::write_all(os, fd, array.bounds());
    }
    std::vector<std::byte> buffer(std::min(os::limits_of(os).array_piece, array.nbytes()));
    array::ElementStream elements(array, order);
    while (const std::size_t size = elements.read(buffer)) {
      LASTREF_CHECK(os::write_all(os, fd, os::Bytes(buffer).first(size)));
    }
    return ok();
  });
}

Result<NpyHeader> read_npy_header(os::Os& os, os::Fd fd) {
  return os::within_memory("an .npy file", [&]() -> Result<NpyHeader> {
    // Reads no byte that might follow the header: first the part that all versions have, then the
    // rest.
    return read_header(os, fd, array::npy_start_size(1));
  });
}

Result<Array> read_npy(os::Os& os, os::Fd fd) {
  return os::within_memory("an .npy file", [&]() -> Result<Array> {
    LASTREF_TRY(header, read_npy_header(os, fd));
    LASTREF_TRY(status, os.status(fd));
    LASTREF_CHECK(check_elements(status, header));
    LASTREF_TRY(memory, Memory::uninitialized(header.nbytes));
    LASTREF_TRY(size, os::read_until_full(os, fd, memory->bytes()));
    if (size != header.nbytes) {
      return malformed("the file is shorter than its header requires");
    }
    return Array::over(std::move(memory), layout_of(header));
  });
}

namespace array {

Result<Array> map_open_npy(os::Os& os,
                           os::UniqueFd file,
                           std::string path,
                           MapMode mode,
                           std::function<void()> when_unmapped) {
  return os::within_memory("an .npy file", [&]() -> Result<Array> {
    LASTREF_TRY(
        header,
        in_file(path,
                os::with_path(path, read_header(os, file.get(), os::limits_of(os).header_guess))));
    LASTREF_TRY(status, os::with_path(path, os.status(file.get())));
    LASTREF_CHECK(in_file(path, check_elements(status, header)));
    LASTREF_TRY(memory,
                Memory::map_open(os,
                                 file.get(),
                                 std::move(path),
                                 {.mode = mode,
                                  .offset = header.data_offset,
                                  .size = header.nbytes,
                                  .when_unmapped = std::move(when_unmapped)},
                                 status));
    return Array::over(std::move(memory), layout_of(header));
  });
}

}  // namespace array

Result<Array> map_npy(os::Os& os,
                      const os::PathAt& where,
                      MapMode mode,
                      std::function<void()> when_unmapped) {
  return os::within_memory("an .npy file", [&]() -> Result<Array> {
    if (mode == MapMode::create) {
      return failure(std::errc::invalid_argument, "a new file has no header yet: see create_npy");
    }
    os::PathAt named = where;
    LASTREF_TRY(file, array::open_named(os, named, {.write = mode == MapMode::read_write}));
    LASTREF_TRY(path, array::path_of(os, named));
    return array::map_open_npy(
        os, std::move(file), std::move(path), mode, std::move(when_unmapped));
  });
}

Result<Array> create_npy(
    os::Os& os, const os::PathAt& where, const DType& dtype, const Shape& shape, Order order) {
  return os::within_memory("an .npy file", [&]() -> Result<Array> {
    LASTREF_TRY(bytes, npy_header(dtype, shape, order));
    LASTREF_TRY(header, parse_npy_header(bytes));
    LASTREF_TRY(path, array::path_of(os, where));
    LASTREF_TRY(file, array::open_in_place(os, where));
    auto array = os::within_memory("an .npy file", [&]() -> Result<Array> {
      LASTREF_TRY(memory, fill_new(os, file.get(), std::move(path), bytes, header.nbytes));
      return Array::over(std::move(memory), layout_of(header));
    });
    if (!array) {
      array::discard_own_quietly(os, file.get(), where);
    }
    return array;
  });
}

}  // namespace lastref
