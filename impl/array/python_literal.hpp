// Literal: the few Python literals that dtypes and .npy headers use.
//
// Strings, whole numbers, True, False, None, tuples, lists and dicts; nothing is ever evaluated.
// Not supported, because numpy writes none of them: comments, adjacent strings, prefixes, raw line
// ends in strings, numbers with a point or a base. "(3)" is a number and "(3,)" a tuple.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <lastref/error.hpp>

namespace lastref::array {

struct Literal {
  enum class Kind : std::uint8_t { none, boolean, number, text, tuple, list, dict };

  Kind kind = Kind::none;
  bool truth = false;               ///< boolean
  bool negative = false;            ///< number
  std::uint64_t number = 0;         ///< number, without its sign
  std::string text = {};            ///< text, as UTF-8
  std::vector<Literal> items = {};  ///< of a dict: key, value, key, value...
  std::string_view source = {};     ///< The source text.
};

/// The maximum depth of nested brackets.
inline constexpr int literal_depth_max = 32;

inline tl::unexpected<Error> malformed(const char* reason) {
  return failure(std::errc::bad_message, reason);
}

/// Parses the one literal in `text`, which must outlive the result.
///
/// Errors          bad_message, with the reason as subject.
Result<Literal> parse_literal(std::string_view text);

}  // namespace lastref::array
