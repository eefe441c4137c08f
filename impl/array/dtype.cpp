#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <lastref/dtype.hpp>

#include "impl/array/python_literal.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref {
namespace {

using array::Literal;
using Kind = Literal::Kind;

constexpr std::size_t itemsize_max = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t unit_count_max = itemsize_max;
constexpr std::size_t character_size = 4;
constexpr std::size_t time_size = 8;
constexpr std::size_t pointer_size = 8;

tl::unexpected<Error> invalid_dtype(const char* reason) {
  return failure(std::errc::invalid_argument, reason);
}

tl::unexpected<Error> too_large() {
  return failure(std::errc::value_too_large, "an element of 2 GiB or more");
}

/// Takes digits off the front; none if there are none, or the number exceeds the size of an
/// element.
std::optional<std::size_t> take_number(std::string_view& text) noexcept {
  std::size_t number = 0;
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    number = number * 10 + static_cast<std::size_t>(text[digits] - '0');
    if (number > itemsize_max) {
      return std::nullopt;
    }
    ++digits;
  }
  text.remove_prefix(digits);
  return digits == 0 ? std::nullopt : std::optional(number);
}

std::optional<DTypeKind> kind_of(char letter) noexcept {
  constexpr std::string_view letters = "biufcSUmMVO";
  return letters.find(letter) == std::string_view::npos ? std::nullopt
                                                        : std::optional(DTypeKind{letter});
}

/// Whether numpy has such numbers.
bool has_size(DTypeKind kind, std::size_t size) noexcept {
  const auto is_one_of = [size](std::initializer_list<std::size_t> sizes) {
    return std::ranges::find(sizes, size) != sizes.end();
  };
  switch (kind) {
    case DTypeKind::boolean:
      return size == 1;
    case DTypeKind::signed_integer:
    case DTypeKind::unsigned_integer:
      return is_one_of({1, 2, 4, 8});
    case DTypeKind::floating:
      return is_one_of({2, 4, 8, 16});
    case DTypeKind::complex:
      return is_one_of({8, 16, 32});
    case DTypeKind::timedelta:
    case DTypeKind::datetime:
      return size == time_size;
    case DTypeKind::object:
      return size == pointer_size;
    case DTypeKind::bytes:
    case DTypeKind::unicode:
    case DTypeKind::raw:
      return true;
  }
  return false;
}

/// "[25s]", in numpy's format: no unit at all for the generic one, no count of 1.
Result<std::string> unit_of(std::string_view text) {
  if (text.empty()) {
    return std::string();
  }
  if (!text.starts_with('[') || !text.ends_with(']')) {
    return invalid_dtype("a unit that is not in brackets");
  }
  text.remove_prefix(1);
  text.remove_suffix(1);
  const bool counted = !text.empty() && text.front() >= '0' && text.front() <= '9';
  const auto count = take_number(text);
  if (counted && (!count || *count == 0 || *count > unit_count_max)) {
    return invalid_dtype("an impossible count of units");
  }
  constexpr std::array<std::string_view, 13> units = {
      "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"};
  if (text == "generic" && !counted) {
    return std::string();
  }
  if (std::ranges::find(units, text) == units.end()) {
    return invalid_dtype("an unknown unit of time");
  }
  const std::string number = count.value_or(1) == 1 ? std::string() : std::to_string(*count);
  return '[' + number + std::string(text) + ']';
}

ByteOrder take_order(std::string_view& text) noexcept {
  const char letter = text.empty() ? '\0' : text.front();
  const bool given = letter == '<' || letter == '>' || letter == '=' || letter == '|';
  text.remove_prefix(given ? 1 : 0);
  if (letter == '<') {
    return ByteOrder::little;
  }
  if (letter == '>') {
    return ByteOrder::big;
  }
  return std::endian::native == std::endian::little ? ByteOrder::little : ByteOrder::big;
}

/// The properties of a part that a structure needs.
struct Extent {
  std::size_t itemsize = 0;
  bool has_object = false;
  bool plain_void = false;  ///< May be padding.
};

Result<Extent> extent_of(const Literal& type);

/// The shape of a field: a number or a tuple of numbers.
Result<Extent> repeated(Extent extent, const Literal& shape) {
  const bool is_number = shape.kind == Kind::number;
  if (!is_number && shape.kind != Kind::tuple) {
    return invalid_dtype("the shape of a field is no tuple");
  }
  for (const Literal& dim : is_number ? std::span(&shape, 1) : std::span(shape.items)) {
    if (dim.kind != Kind::number || dim.negative) {
      return invalid_dtype("the shape of a field is not made of sizes");
    }
    if (dim.number > itemsize_max ||
        (dim.number != 0 && extent.itemsize > itemsize_max / dim.number)) {
      return too_large();
    }
    extent.itemsize *= dim.number;
  }
  extent.plain_void = false;
  return extent;
}

/// The names of fields; a title is one too.
class Names {
 public:
  Status add(const Literal& name) {
    if (name.kind == Kind::text) {
      return add(name.text);
    }
    if (name.kind != Kind::tuple || name.items.size() != 2) {
      return invalid_dtype("the name of a field is no string");
    }
    for (const Literal& each : name.items) {
      if (each.kind != Kind::text) {
        return invalid_dtype("the name of a field is no string");
      }
      LASTREF_CHECK(add(each.text));
    }
    return ok();
  }

 private:
  Status add(const std::string& name) {
    return names_.insert(name).second ? ok()
                                      : Status(invalid_dtype("two fields have the same name"));
  }

  std::set<std::string> names_;
};

bool is_unnamed(const Literal& name) {
  return name.kind == Kind::text && name.text.empty();
}

Result<Extent> structure_of(const Literal& fields) {
  Extent whole;
  Names names;
  for (const Literal& field : fields.items) {
    if (field.kind != Kind::tuple || field.items.size() < 2 || field.items.size() > 3) {
      return invalid_dtype("a field is no tuple of name, type and maybe shape");
    }
    LASTREF_TRY(extent, extent_of(field.items[1]));
    if (field.items.size() == 3) {
      LASTREF_TRY(more, repeated(extent, field.items[2]));
      extent = more;
    }
    if (!is_unnamed(field.items[0]) || !extent.plain_void) {
      LASTREF_CHECK(names.add(field.items[0]));
    }
    whole.has_object |= extent.has_object;
    whole.itemsize += extent.itemsize;
    if (whole.itemsize > itemsize_max) {
      return too_large();
    }
  }
  return whole;
}

/// A text, a list of fields, or a tuple of one of those and a shape.
Result<Extent> extent_of(const Literal& type) {
  switch (type.kind) {
    case Kind::list:
      return structure_of(type);
    case Kind::tuple: {
      if (type.items.size() != 2) {
        return invalid_dtype("a tuple that is no type and shape");
      }
      LASTREF_TRY(extent, extent_of(type.items[0]));
      return repeated(extent, type.items[1]);
    }
    case Kind::text: {
      if (type.text.starts_with('[')) {
        return invalid_dtype("a list in quotes");
      }
      LASTREF_TRY(scalar, DType::parse(type.text));
      return Extent{.itemsize = scalar.itemsize(),
                    .has_object = scalar.has_object(),
                    .plain_void = scalar.kind() == DTypeKind::raw};
    }
    default:
      return invalid_dtype("the type of a field is no string");
  }
}

}  // namespace

Result<DType> DType::parse(std::string_view text) {
  return os::within_memory("a dtype", [&]() -> Result<DType> {
    DType type;
    if (text.starts_with('[')) {
      auto fields = array::parse_literal(text);
      if (!fields && os::is_no_memory(fields.error())) {
        return tl::unexpected<Error>(std::move(fields.error()));
      }
      if (!fields) {
        return failure(std::errc::invalid_argument, fields.error().subject);
      }
      if (fields->source.size() != text.size()) {
        return invalid_dtype("white space after the list");
      }
      LASTREF_TRY(extent, structure_of(*fields));
      type.text_ = text;
      type.itemsize_ = extent.itemsize;
      type.has_object_ = extent.has_object;
      return type;
    }
    const ByteOrder order = take_order(text);
    const auto kind = text.empty() ? std::nullopt : kind_of(text.front());
    if (!kind) {
      return invalid_dtype("an unknown kind of element");
    }
    text.remove_prefix(1);
    const bool has_digits = !text.empty() && text.front() >= '0' && text.front() <= '9';
    const auto number = take_number(text);
    if (has_digits && !number) {
      return too_large();
    }
    const bool is_time = kind == DTypeKind::timedelta || kind == DTypeKind::datetime;
    if (!is_time && !text.empty()) {
      return invalid_dtype("there is text after the size");
    }
    const bool is_object = kind == DTypeKind::object;
    const std::size_t each = kind == DTypeKind::unicode ? character_size : 1;
    const std::size_t count = is_object ? number.value_or(pointer_size) : number.value_or(0);
    if (count > itemsize_max / each) {
      return too_large();
    }
    type.kind_ = *kind;
    type.itemsize_ = count * each;
    type.has_object_ = is_object;
    if (!has_size(*kind, type.itemsize_)) {
      return invalid_dtype("a size that this kind does not have");
    }
    LASTREF_TRY(unit, unit_of(text));
    const bool ordered = type.itemsize_ > 1 || kind == DTypeKind::unicode;
    const bool swappable = kind != DTypeKind::bytes && kind != DTypeKind::raw && !is_object;
    type.byte_order_ = ordered && swappable ? order : ByteOrder::none;
    type.text_ += static_cast<char>(type.byte_order_);
    type.text_ += static_cast<char>(*kind);
    type.text_ += is_object ? std::string() : std::to_string(count);
    type.text_ += unit;
    return type;
  });
}

std::string DType::literal() const {
  return is_structured() ? text_ : '\'' + text_ + '\'';
}

}  // namespace lastref
