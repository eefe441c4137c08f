// named_enum: an enumeration and the texts of its enumerators, in one list.
//
//     LASTREF_NAMED_ENUM(NameKind,
//                        (file, "file"),
//                        (shared_memory, "shared memory"));  ///< POSIX
//
// defines the enum class NameKind, with std::uint8_t below it. name_of(NameKind::shared_memory) is
// "shared memory"; names_of(NameKind()) is an array of the texts of all enumerators, in order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <boost/preprocessor/seq/enum.hpp>
#include <boost/preprocessor/seq/transform.hpp>
#include <boost/preprocessor/tuple/elem.hpp>
#include <boost/preprocessor/variadic/to_seq.hpp>

#define LASTREF_ELEMENT_OF(r, index, pair) BOOST_PP_TUPLE_ELEM(index, pair)
#define LASTREF_ELEMENTS(index, ...) \
  BOOST_PP_SEQ_ENUM(                 \
      BOOST_PP_SEQ_TRANSFORM(LASTREF_ELEMENT_OF, index, BOOST_PP_VARIADIC_TO_SEQ(__VA_ARGS__)))

#define LASTREF_NAMED_ENUM(Type, ...)                                           \
  enum class Type : std::uint8_t { LASTREF_ELEMENTS(0, __VA_ARGS__) };          \
  constexpr auto names_of(Type) noexcept {                                      \
    return std::to_array<std::string_view>({LASTREF_ELEMENTS(1, __VA_ARGS__)}); \
  }                                                                             \
  constexpr std::string_view name_of(Type value) noexcept {                     \
    return names_of(value).at(static_cast<std::size_t>(value));                 \
  }                                                                             \
  static_assert(!names_of(Type()).empty())
