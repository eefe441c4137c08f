// npy: numpy's file format for one array: a header that describes it, and then its elements.
//
// A file is "\x93NUMPY", the version (two bytes), the size of the text that follows (two bytes,
// little-endian; four from version 2 on), and the text. The text is a Python dict, padded with
// blanks and a line end so that the elements start at a multiple of 64. It is UTF-8 in version 3,
// and Latin-1 in the others. For example
//   93 'NUMPY' 01 00 76 00 "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }   ...   \n"
// Files written here are byte for byte as numpy 1.24 writes them. Files of any numpy version can be
// read. An invalid file is refused, with the reason, before memory is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <lastref/array.hpp>
#include <lastref/dtype.hpp>
#include <lastref/error.hpp>
#include <lastref/memory.hpp>
#include <lastref/os.hpp>

namespace lastref {

struct NpyHeader {
  DType dtype;
  Shape shape;
  Order order = Order::c;       ///< Of the elements; f is fortran_order in the format.
  std::uint8_t version = 1;     ///< 1, 2 or 3
  std::size_t data_offset = 0;  ///< bytes; start of the elements
  std::size_t nbytes = 0;       ///< of the elements

  bool operator==(const NpyHeader&) const = default;
};

/// bytes; a longer text is refused. numpy's own default limit is 10,000.
inline constexpr std::size_t npy_text_size_max = std::size_t{1} << 20U;

/// Returns the bytes that precede the elements, in the lowest version that can express them.
///
/// Errors          not_supported: elements that point into one Python; value_too_large: more bytes
///                 than there are addresses, too many axes, or a text beyond the limit.
Result<std::vector<std::byte>> npy_header(const DType& dtype, const Shape& shape, Order order);

/// Parses the start of a file; bytes after the header are ignored.
///
/// Errors          bad_message, with the reason as subject; value_too_large: a text beyond the
///                 limit, or an array that no memory can hold.
Result<NpyHeader> parse_npy_header(os::Bytes bytes);

/// Writes header and elements to an open file, pipe or the like that never stays full. Uses Fortran
/// order if the array is contiguous only in that order. Needs no more than 256 KiB of memory.
///
/// Errors          not_supported, value_too_large: nothing was written; errors of write: some part
///                 was written.
/// Crossings       write.
Status write_npy(os::Os& os, os::Fd fd, const Array& array);

/// Reads a header, and no byte after it.
///
/// Errors          as parse_npy_header; errors of read.
/// Crossings       read.
Result<NpyHeader> read_npy_header(os::Os& os, os::Fd fd);

/// Reads header and elements into new memory, from a regular file that is positioned at its start.
///
/// Errors          as read_npy_header; not_supported: elements that point into one Python;
///                 bad_message: not a regular file, or shorter than its header requires; nothing
///                 was allocated for it; not_enough_memory.
/// Crossings       read, status.
Result<Array> read_npy(os::Os& os, os::Fd fd);

/// Maps the array of a file, without reading its elements. The mode is any except "w+". The name
/// may be a symlink; the array's file is the target of the symlink.
///
/// Differs: in mode "r+", numpy extends a file that is shorter than its header requires.
///
/// Errors          those of open, read_link and map; otherwise as read_npy; invalid_argument: the
///                 mode; filename_too_long and errors of working_folder, as Memory::map_file.
/// Crossings       working_folder for a relative path; open, read, status, map, close; read_link
///                 for a symlink; unmap when the memory is destroyed.
Result<Array> map_npy(os::Os& os,
                      const os::PathAt& where,
                      MapMode mode,
                      std::function<void()> when_unmapped = {});

/// Creates a file of zeros, which replaces any file of that name, and returns its array: mode "w+".
/// The space is allocated at once. If several files are created at the same time, one of them has
/// the name in the end.
///
/// Errors          not_supported, value_too_large, filename_too_long and errors of working_folder:
///                 nothing was changed; errors of unlink, open, write, allocate, write_at and map:
///                 the file is removed.
/// Crossings       working_folder for a relative path; unlink, open, write, status, allocate, map,
///                 close; write_at if allocate is not supported; on an error status_at; unmap when
///                 the memory is destroyed.
/// Limits          As for Memory::map_file.
Result<Array> create_npy(os::Os& os,
                         const os::PathAt& where,
                         const DType& dtype,
                         const Shape& shape,
                         Order order = Order::c);

}  // namespace lastref
