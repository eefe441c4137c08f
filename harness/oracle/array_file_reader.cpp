// The reader of array files: NumPy's format.
#include <algorithm>
#include <charconv>
#include <optional>

#include "harness/oracle/file_readers.hpp"

namespace lastref::harness::oracle {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t version_at = 6;
constexpr std::size_t text_size_at = 8;
constexpr std::size_t data_alignment = 64;

/// The text that follows "'key': " in the text of a dictionary.
std::optional<std::string_view> text_after(std::string_view text, std::string_view key) {
  const std::string quoted = "'" + std::string(key) + "': ";
  const std::size_t at = text.find(quoted);
  return at == std::string_view::npos ? std::nullopt
                                      : std::optional(text.substr(at + quoted.size()));
}

/// Parses and removes the number at the start.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc{}) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// The number of elements of a shape like "(3, 4)".
std::optional<std::uint64_t> elements_of(std::string_view shape) {
  if (!shape.starts_with('(')) {
    return std::nullopt;
  }
  shape.remove_prefix(1);
  std::uint64_t elements = 1;
  while (!shape.starts_with(')')) {
    const std::optional<std::uint64_t> length = take_number(shape);
    if (!length || __builtin_mul_overflow(elements, *length, &elements)) {
      return std::nullopt;
    }
    shape.remove_prefix(shape.starts_with(", ") ? 2 : shape.starts_with(',') ? 1 : 0);
  }
  return elements;
}

/// The size in bytes of an element of a type like "'<i4'"; 0 for a record, which has several
/// fields.
std::optional<std::uint64_t> item_size_of(std::string_view descr) {
  constexpr std::uint64_t bytes_of_a_character = 4;
  if (descr.starts_with('[')) {
    return 0;
  }
  if (descr.size() < 4 || descr[0] != '\'' ||
      std::string_view("<>|=").find(descr[1]) == std::string_view::npos) {
    return std::nullopt;
  }
  const char kind = descr[2];
  descr.remove_prefix(3);
  const std::optional<std::uint64_t> size = take_number(descr);
  return size && kind == 'U' ? std::optional(*size * bytes_of_a_character) : size;
}

/// Whether the size of the data agrees with the header text.
ReadFile<std::string_view> check_data(std::string_view text, std::string_view data) {
  const auto descr = text_after(text, "descr");
  const auto order = text_after(text, "fortran_order");
  const auto shape = text_after(text, "shape");
  if (!descr || !order || !shape || !(order->starts_with("True") || order->starts_with("False"))) {
    return not_whole("no type, order or shape in the header");
  }
  const auto item_size = item_size_of(*descr);
  const auto elements = elements_of(*shape);
  if (!item_size || !elements) {
    return not_whole("an unreadable type or shape");
  }
  const bool is_record = *item_size == 0;
  const bool fits = is_record ? (*elements == 0 ? data.empty() : data.size() % *elements == 0)
                              : data.size() == *item_size * *elements;
  return fits ? ReadFile<std::string_view>(data)
              : not_whole(std::to_string(data.size()) + " bytes of data, where " +
                          std::to_string(*elements) + " elements are expected");
}

}  // namespace

ReadFile<std::string_view> read_array_file(std::string_view bytes) {
  if (!bytes.starts_with(magic) || bytes.size() <= text_size_at) {
    return not_whole("not a file of an array");
  }
  const auto version = static_cast<unsigned char>(bytes[version_at]);
  const std::size_t size_of_size = version == 1 ? 2 : 4;
  const std::size_t text_at = text_size_at + size_of_size;
  if (version < 1 || version > 3 || bytes[version_at + 1] != 0 || bytes.size() < text_at) {
    return not_whole("an unknown version");
  }
  const std::uint64_t text_size = number_in(bytes, text_size_at, size_of_size);
  if (text_size > bytes.size() - text_at || text_size == 0) {
    return not_whole("its header is cut short");
  }
  const std::string_view text = bytes.substr(text_at, text_size);
  if (!text.starts_with('{') || !text.ends_with('\n') ||
      (text_at + text_size) % data_alignment != 0) {
    return not_whole("its header is no dictionary that ends where data may begin");
  }
  return check_data(text, bytes.substr(text_at + text_size));
}

}  // namespace lastref::harness::oracle
