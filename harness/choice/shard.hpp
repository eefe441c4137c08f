// Shard: one of several parts of a plan, such as those of the jobs of a CI system. Each item of the
// plan is in one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <lastref/error.hpp>

namespace lastref::harness {

struct Shard {
  std::size_t number = 1;  ///< From 1
  std::size_t all = 1;

  /// Whether the item is in it. Items are counted from 0; the shards take them in turn.
  bool has(std::size_t item) const noexcept { return item % all + 1 == number; }
  bool operator==(const Shard&) const = default;
};

/// "2/8" is the second of eight.
///
/// Errors          invalid_argument: it is no shard.
Result<Shard> parse_shard(std::string_view text);
std::string to_text(const Shard& shard);

/// The numbers of its items, from 0. The costs of two shards differ by one item at most. If all
/// items cost the same, each shard has about as many of every kind.
///
/// @param costs  of each item, not negative; the shards of a plan need the same ones
/// @param first  Which shard gets the first item. Of many plans it should not be the same shard.
std::vector<std::size_t> items_of(const Shard& shard,
                                  const std::vector<double>& costs,
                                  std::uint64_t first);

}  // namespace lastref::harness
