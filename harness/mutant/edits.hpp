// Edits: small changes of a source, each of which may be a bug.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lastref::harness {

enum class Operator : std::uint8_t {
  drop_statement,
  swap_statements,   ///< two neighbours
  negate_condition,  ///< of an if
  off_by_one,        ///< a comparison, or a number
  ignore_result,     ///< LASTREF_CHECK(x) to a discarded x
  drop_retry,
  weaken_order,  ///< of memory: to relaxed
  return_early,
};
inline constexpr std::size_t operators_count = 8;

/// "drop_statement".
std::string_view name_of(Operator by) noexcept;

/// The bytes from `begin` to `end` of a source become `text`.
struct Edit {
  Operator by{};
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;

  bool operator==(const Edit&) const = default;
};

/// All edits, in the order of the operators, and then of the source. Each changes something. Some
/// do not compile, because the meaning of names is unknown here.
std::vector<Edit> edits_of(std::string_view source);

std::string changed_by(const Edit& edit, std::string_view source);

/// In the format of `git apply`: the lines that differ, and three around them. `path` is relative
/// to the checkout. Both texts end with a line break, and differ.
std::string unified_diff(std::string_view path, std::string_view before, std::string_view after);

}  // namespace lastref::harness
