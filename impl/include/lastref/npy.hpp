// npy: numpy's file format for one array: a header that says what it is, and then its elements.
//
// A file is "\x93NUMPY", the version (two bytes), the size of the text that follows (two bytes,
// little-endian; four from version 2 on), and the text, which is a Python dict with blanks and a
// line end behind it, so that the elements start at a multiple of 64. Version 3 has its text in
// UTF-8, the others in Latin-1. For example
//   93 'NUMPY' 01 00 76 00 "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }   ...   \n"
// What is written here is byte for byte what numpy 1.24 writes. What is read is what any numpy
// writes; what a stranger may have written is refused, with the reason, before memory is taken.
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
  Order order = Order::c;       ///< Of the elements; f is what the format calls fortran_order.
  std::uint8_t version = 1;     ///< 1, 2 or 3
  std::size_t data_offset = 0;  ///< bytes; where the elements start
  std::size_t nbytes = 0;       ///< of the elements

  bool operator==(const NpyHeader&) const = default;
};

/// bytes; a longer text is refused. numpy's own limit is 10,000 unless told otherwise.
inline constexpr std::size_t npy_text_size_max = std::size_t{1} << 20U;

/// The bytes that stand before the elements, in the lowest version that can say it.
///
/// Errors          not_supported: elements that point into one Python; value_too_large: more bytes
///                 than there are addresses, too many axes, or a text beyond the limit.
Result<std::vector<std::byte>> npy_header(const DType& dtype, const Shape& shape, Order order);

/// What the start of a file says; what stands behind the header is not looked at.
///
/// Errors          bad_message, with the reason as subject; value_too_large: a text beyond the
///                 limit, or an array that no memory can hold.
Result<NpyHeader> parse_npy_header(os::Bytes bytes);

/// Writes header and elements to a file, pipe or the like that is open and never stays full: in
/// Fortran order if the array is contiguous in that order alone. Needs no more than 256 KiB.
///
/// Errors          not_supported, value_too_large: nothing is written; what write said: some part
///                 is.
/// Crossings       write.
Status write_npy(os::Os& os, os::Fd fd, const Array& array);

/// Reads a header, and no byte behind it.
///
/// Errors          as parse_npy_header; what read said.
/// Crossings       read.
Result<NpyHeader> read_npy_header(os::Os& os, os::Fd fd);

/// Reads header and elements into new memory, from a regular file that is open at its start.
///
/// Errors          as read_npy_header; not_supported: elements that point into one Python;
///                 bad_message: no regular file, or shorter than its header says, and nothing was
///                 allocated for it; not_enough_memory.
/// Crossings       read, status.
Result<Array> read_npy(os::Os& os, os::Fd fd);

/// The array of a file, without reading its elements. The mode is any but "w+". The name may be a
/// symlink; the array's file is that to which it leads.
///
/// Differs: numpy makes a file longer that is shorter than its header says, if the mode is "r+".
///
/// Errors          what open, read_link and map said; else as read_npy; invalid_argument: the mode;
///                 filename_too_long and what working_folder said, as Memory::map_file.
/// Crossings       working_folder for a relative path; open, read, status, map, close; read_link
///                 for a symlink; unmap when the memory goes.
Result<Array> map_npy(os::Os& os,
                      const os::PathAt& where,
                      MapMode mode,
                      std::function<void()> when_unmapped = {});

/// A new file of zeros in place of what has the name, and its array: mode "w+". Its space is taken
/// at once. Of several that are made at the same time, one has the name in the end.
///
/// Errors          not_supported, value_too_large, filename_too_long and what working_folder said:
///                 nothing was touched; what unlink, open, write, allocate, write_at or map said:
///                 the file is removed.
/// Crossings       working_folder for a relative path; unlink, open, write, status, allocate, map,
///                 close; write_at where allocate is not supported; on an error status_at; unmap
///                 when the memory goes.
/// Limits          As of Memory::map_file.
Result<Array> create_npy(os::Os& os,
                         const os::PathAt& where,
                         const DType& dtype,
                         const Shape& shape,
                         Order order = Order::c);

}  // namespace lastref
