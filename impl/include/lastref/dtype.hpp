// DType: what the elements of an array are, in numpy's words.
//
// Arrays here move bytes and never look into them, so a DType is a size and a text that numpy
// understands. The text of a scalar is numpy's `dtype.str`: byte order, kind, size and unit, as in
// "<f8", "|S10", "<U3" (three characters of four bytes) or ">M8[25s]". The text of a structure is
// the list that is numpy's `dtype.descr`, kept as it was written, because what is in it (titles,
// padding, shapes) matters only to numpy.
//
// What a newcomer would get wrong:
// - "=" and "|" in front of what has a byte order mean the order of this machine, as in numpy, and
//   read as "<" or ">" from there on. What has none (one byte, S, V, O) always reads as "|".
// - Two structures are equal when their texts are. That is less than numpy says, never more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <lastref/error.hpp>

namespace lastref {

/// numpy's letters for kinds of scalars; `raw` is what numpy calls void,
/// and every structure.
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
  /// "<f8", or the list of a structure's fields as Python would print it.
  ///
  /// Errors          invalid_argument, with the reason as subject: numpy would not take it, or
  ///                 would have to evaluate it ("float64", "i"); value_too_large: an element of
  ///                 2 GiB or more.
  static Result<DType> parse(std::string_view text);

  DTypeKind kind() const noexcept { return kind_; }
  ByteOrder byte_order() const noexcept { return byte_order_; }
  /// bytes; 0 to 2^31 - 1
  std::size_t itemsize() const noexcept { return itemsize_; }
  bool is_structured() const noexcept { return text_.starts_with('['); }
  /// Whether elements are, or contain, pointers into one Python: they mean nothing elsewhere, so
  /// such an array can never be shared or saved.
  bool has_object() const noexcept { return has_object_; }

  /// What `parse` takes.
  const std::string& text() const noexcept { return text_; }
  /// As a Python literal: the list, or the text in quotes.
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
