// npy: a whole .npy file: its header, from bytes and from a file, and its elements.
//
// The first byte gives the maximal size of a read; the rest is the file.
#include <algorithm>

#include <lastref/npy.hpp>

#include "property_tests/fuzz/file_os.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

constexpr os::Fd no_fd{3};

void expect_refused_as_header(const Error& error) {
  expect_refused(error, std::errc::bad_message, std::errc::value_too_large);
}

/// An accepted header can be written, and then means the same.
void expect_written_again(const NpyHeader& header) {
  if (header.dtype.has_object()) {
    return;
  }
  const auto bytes = npy_header(header.dtype, header.shape, header.order);
  expect(bytes.has_value(), "what was read can be written");
  auto again = parse_npy_header(*bytes);
  expect(again.has_value(), "what was written can be read");
  again->version = header.version;
  again->data_offset = header.data_offset;
  expect(*again == header, "what was written says the same");
}

/// The elements are in the file, and reading and mapping give the same.
void expect_elements(FileOs& os, const NpyHeader& header, os::Bytes file) {
  const auto fd = os.open("/a.npy", {});
  const auto read = in_proportion(file, [&] { return read_npy(os, *fd); });
  static_cast<void>(os.close(*fd));
  const auto mapped = in_proportion(file, [&] { return map_npy(os, "/a.npy", MapMode::read); });
  const bool is_whole = file.size() - header.data_offset >= header.nbytes;
  expect(read.has_value() == (is_whole && !header.dtype.has_object()),
         "an array is read if all of it is there");
  expect(mapped.has_value() == read.has_value(), "what can be read can be mapped");
  if (!read) {
    expect_refused(read.error(), std::errc::bad_message, std::errc::not_supported);
    return;
  }
  expect(read->dtype() == header.dtype, "an array has the dtype of its header");
  expect(read->shape() == header.shape, "an array has the shape of its header");
  const os::Bytes elements = file.subspan(header.data_offset, header.nbytes);
  expect(std::ranges::equal(read->bounds(), elements), "elements are those of the file");
  expect(std::ranges::equal(mapped->bounds(), elements), "mapped elements are those of the file");
}

}  // namespace

void check(os::Bytes input) {
  if (input.empty()) {
    return;
  }
  const os::Bytes file = input.subspan(1);
  const auto header = in_proportion(file, [&] { return parse_npy_header(file); });
  FileOs os(file);
  os.read_most = std::to_integer<std::size_t>(input.front()) + 1;
  const auto fd = os.open("/a.npy", {});
  expect(*fd == no_fd, "the first file is open");
  const auto read = in_proportion(file, [&] { return read_npy_header(os, *fd); });
  static_cast<void>(os.close(*fd));
  expect(read == header, "a header is the same from bytes and from a file");
  if (header) {
    expect(header->data_offset <= file.size(), "a header lies in its file");
    expect(header->shape.size() <= dims_max, "no array has more axes");
    expect_written_again(*header);
    expect_elements(os, *header, file);
  } else {
    expect_refused_as_header(header.error());
  }
  expect(os.is_at_rest(), "files are closed and unmapped");
}

}  // namespace lastref::fuzz
