#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <lastref/npy.hpp>

#include "impl/array/layout.hpp"
#include "impl/array/npy_start.hpp"
#include "impl/array/python_literal.hpp"
#include "impl/array/utf8.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref {
namespace {

using array::Literal;
using array::malformed;
using array::NpyStart;
using Kind = Literal::Kind;

constexpr std::size_t start_alignment = 64;
constexpr std::size_t short_text_size_max = 65535;
/// Digits of the longest axis for which numpy leaves space, so that it can append in place.
constexpr std::size_t growth_digits = 21;

std::string text_of(const DType& dtype, const Shape& shape, Order order) {
  const bool fortran_order = order == Order::f;
  std::string text = "{'descr': " + dtype.literal() +
                     ", 'fortran_order': " + (fortran_order ? "True" : "False") + ", 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  text += shape.size() == 1 ? ",), }" : "), }";
  if (!shape.empty()) {
    const std::size_t growing = fortran_order ? shape.back() : shape.front();
    text.append(growth_digits - std::to_string(growing).size(), ' ');
  }
  return text;
}

/// The whole header, with the padded text; none if the text does not fit into the version.
std::optional<std::string> wrapped(std::string text, std::uint8_t version) {
  const std::size_t start = array::npy_start_size(version);
  // At least one blank, as in numpy, even if none is needed.
  text.append(start_alignment - (start + text.size() + 1) % start_alignment, ' ');
  text += '\n';
  if (version == 1 && text.size() > short_text_size_max) {
    return std::nullopt;
  }
  std::string header(array::npy_magic);
  header += static_cast<char>(version);
  header += '\0';
  for (std::size_t i = array::npy_magic.size() + 2, size = text.size(); i < start; ++i) {
    header += static_cast<char>(size & 0xffU);
    size >>= 8U;
  }
  return header + text;
}

Result<DType> dtype_of(const Literal& descr) {
  const bool listed = descr.kind == Kind::list;
  if (!listed && (descr.kind != Kind::text || descr.text.starts_with('['))) {
    return malformed("descr is neither a string nor a list");
  }
  auto dtype = DType::parse(listed ? descr.source : descr.text);
  if (!dtype && !os::is_no_memory(dtype.error())) {
    return failure(std::errc::bad_message, dtype.error().subject);
  }
  return dtype;
}

Result<Shape> shape_of(const Literal& tuple) {
  if (tuple.kind != Kind::tuple) {
    return malformed("shape is no tuple");
  }
  Shape shape;
  for (const Literal& length : tuple.items) {
    if (length.kind != Kind::number) {
      return malformed("shape is not made of numbers");
    }
    if (length.negative && length.number != 0) {
      return malformed("a negative length in shape");
    }
    shape.push_back(length.number);
  }
  return shape;
}

/// The value of a key. The caller checks the number of keys, so each occurs once.
const Literal* value_of(const Literal& dict, std::string_view key) {
  for (std::size_t i = 0; i < dict.items.size(); i += 2) {
    if (dict.items[i].kind == Kind::text && dict.items[i].text == key) {
      return &dict.items[i + 1];
    }
  }
  return nullptr;
}

Result<NpyHeader> parse_text(std::string_view text, std::uint8_t version) {
  const std::string utf8 = version >= 3 ? std::string(text) : array::utf8_from_latin1(text);
  LASTREF_TRY(dict, array::parse_literal(utf8));
  if (dict.kind != Kind::dict) {
    return malformed("the header is no dict");
  }
  const Literal* const descr = value_of(dict, "descr");
  const Literal* const fortran_order = value_of(dict, "fortran_order");
  const Literal* const shape = value_of(dict, "shape");
  if (descr == nullptr || fortran_order == nullptr || shape == nullptr) {
    return malformed("a key is missing");
  }
  if (dict.items.size() != 6) {
    return malformed("an unknown key");
  }
  if (fortran_order->kind != Kind::boolean) {
    return malformed("fortran_order is neither True nor False");
  }
  LASTREF_TRY(dtype, dtype_of(*descr));
  LASTREF_TRY(lengths, shape_of(*shape));
  LASTREF_TRY(size, array::size_of(lengths, dtype.itemsize()));
  const std::size_t nbytes = size * dtype.itemsize();
  return NpyHeader{.dtype = std::move(dtype),
                   .shape = std::move(lengths),
                   .order = fortran_order->truth ? Order::f : Order::c,
                   .version = version,
                   .nbytes = nbytes};
}

}  // namespace

namespace array {

Result<NpyStart> parse_npy_start(os::Bytes bytes) {
  const std::size_t before_size = npy_magic.size() + 2;
  const os::Bytes magic = os::bytes_of(npy_magic);
  if (!std::ranges::equal(bytes.first(std::min(bytes.size(), magic.size())),
                          magic.first(std::min(bytes.size(), magic.size())))) {
    return malformed("not an .npy file");
  }
  if (bytes.size() < before_size) {
    return malformed("the header is cut short");
  }
  const auto version = std::to_integer<std::uint8_t>(bytes[npy_magic.size()]);
  if (version < 1 || version > 3 || bytes[npy_magic.size() + 1] != std::byte{0}) {
    return malformed("an unknown version of the format");
  }
  NpyStart start{.version = version, .size = npy_start_size(version)};
  if (bytes.size() < start.size) {
    return malformed("the header is cut short");
  }
  for (std::size_t i = start.size; i > before_size; --i) {
    start.text_size = start.text_size << 8U | std::to_integer<std::size_t>(bytes[i - 1]);
  }
  if (start.text_size > npy_text_size_max) {
    return failure(std::errc::value_too_large, "the size of the header");
  }
  return start;
}

}  // namespace array

Result<std::vector<std::byte>> npy_header(const DType& dtype, const Shape& shape, Order order) {
  return os::within_memory("an .npy header", [&]() -> Result<std::vector<std::byte>> {
    if (dtype.has_object()) {
      return failure(std::errc::not_supported, "elements that point into one Python");
    }
    LASTREF_CHECK(array::size_of(shape, dtype.itemsize()));
    const std::string text = text_of(dtype, shape, order);
    std::optional<std::string> header;
    if (auto latin1 = array::latin1_from_utf8(text)) {
      header = wrapped(*latin1, 1);
      header = header ? header : wrapped(std::move(*latin1), 2);
    } else {
      header = wrapped(text, 3);
    }
    if (header->size() > npy_text_size_max) {
      return failure(std::errc::value_too_large, "the size of the header");
    }
    const os::Bytes bytes = os::bytes_of(*header);
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  });
}

Result<NpyHeader> parse_npy_header(os::Bytes bytes) {
  return os::within_memory("an .npy header", [&]() -> Result<NpyHeader> {
    LASTREF_TRY(start, array::parse_npy_start(bytes));
    if (bytes.size() - start.size < start.text_size) {
      return malformed("the header is cut short");
    }
    const os::Bytes text = bytes.subspan(start.size, start.text_size);
    const auto* const letters = static_cast<const char*>(static_cast<const void*>(text.data()));
    LASTREF_TRY(header, parse_text({letters, text.size()}, start.version));
    header.data_offset = start.size + start.text_size;
    return header;
  });
}

}  // namespace lastref
