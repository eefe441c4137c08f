// DType: the type of an array's elements, in numpy's notation.
//
// Arrays move bytes and never interpret them, so a DType is a size and a text that numpy
// understands. The text of a scalar is numpy's `dtype.str`: byte order, kind, size and unit, as in
// "<f8", "|S10", "<U3" (three characters of four bytes) or ">M8[25s]". The text of a structure is
// numpy's list `dtype.descr`. It is kept as it was written, because its contents (titles, padding,
// shapes) matter only to numpy.
//
// Pitfalls:
// - For a type with a byte order, the prefixes "=" and "|" mean the order of this machine, as in
//   numpy, and are stored as "<" or ">". A type without one (one byte, S, V, O) always has "|".
// - Two structures are equal if their texts are equal. numpy may consider more structures equal,
//   but never fewer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <lastref/error.hpp>

namespace lastref {

/// numpy's letters for kinds of scalars; `raw` is numpy's void, and every structure.
enum class DTypeKind : char {
  boolean = 'b',
  signed_integer = 'i',
  unsigned_integer = 'u',
  floating = 'f',
  complex = 'c',
  bytes = 'S',
  unicode = 'U',
  timedelta = 'm',
  datetime = 'M',
  raw = 'V',
  object = 'O',
};

enum class ByteOrder : char { little = '<', big = '>', none = '|' };

class DType {
 public:
  /// Parses "<f8", or the list of a structure's fields as Python would print it.
  ///
  /// Errors          invalid_argument, with the reason as subject: numpy would not accept it, or
  ///                 would have to evaluate it ("float64", "i"); value_too_large: an element of
  ///                 2 GiB or more.
  static Result<DType> parse(std::string_view text);

  DTypeKind kind() const noexcept { return kind_; }
  ByteOrder byte_order() const noexcept { return byte_order_; }
  /// bytes; 0 to 2^31 - 1
  std::size_t itemsize() const noexcept { return itemsize_; }
  bool is_structured() const noexcept { return text_.starts_with('['); }
  /// Whether elements are, or contain, pointers into one Python process. They are meaningless
  /// elsewhere, so such an array can never be shared or saved.
  bool has_object() const noexcept { return has_object_; }

  /// The text that `parse` accepts.
  const std::string& text() const noexcept { return text_; }
  /// The text as a Python literal: the list, or the text in quotes.
  std::string literal() const;

  bool operator==(const DType& other) const noexcept { return text_ == other.text_; }

 private:
  DType() = default;

  std::string text_;
  std::size_t itemsize_ = 0;
  DTypeKind kind_ = DTypeKind::raw;
  ByteOrder byte_order_ = ByteOrder::none;
  bool has_object_ = false;
};

}  // namespace lastref
