// File readers: what is in each kind of file that the product publishes, by its format alone.
//
// None of them shares code with the product, and none believes anything that it has not compared
// with the size of the file. What is wrong is said as a sentence for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace lastref::harness::oracle {

/// What was read, or why the file is not whole.
template <typename T>
using ReadFile = tl::expected<T, std::string>;

inline tl::unexpected<std::string> not_whole(std::string why) {
  return tl::unexpected<std::string>(std::move(why));
}

/// Views into the bytes that were read.
struct StoredValue {
  std::uint64_t slot = 0;
  std::string_view bytes;
};

struct LiveCache {
  bool is_frozen = false;
  std::vector<StoredValue> values = {};  ///< By slot.
};

struct LedgerContent {
  /// "file:/run/a", as the journal has them, of what is not forgotten.
  std::vector<std::string> names;
  /// Behind the last record is part of another, which does not count.
  bool is_cut_short = false;
};

/// The data of an array in NumPy's format, which begins at a multiple of 64 and ends with the file.
///
/// Source          NumPy Enhancement Proposal 1, and numpy/lib/format.py.
ReadFile<std::string_view> read_array_file(std::string_view bytes);

/// The file of a cache that processes write to meanwhile: each slot that has a value points at a
/// whole record of its own.
///
/// Source          the layout in impl/cache/live_file.hpp.
ReadFile<LiveCache> read_live_cache(std::string_view bytes);

/// A preserved cache, in pfio's format: entries, one a slot, and behind them the values, each in
/// its own place, with nothing between or behind them.
///
/// Source          the layout in impl/cache/snapshot.hpp.
ReadFile<std::vector<StoredValue>> read_preserved_cache(std::string_view bytes);

/// The names on record of a tree.
///
/// Source          the layout in impl/tracker/ledger.hpp.
ReadFile<LedgerContent> read_ledger(std::string_view bytes);

/// `size` bytes of it as a number, the least first. They are there.
constexpr std::uint64_t number_in(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t index = size; index > 0; --index) {
    number = number << 8U | static_cast<unsigned char>(bytes[at + index - 1]);
  }
  return number;
}

}  // namespace lastref::harness::oracle
