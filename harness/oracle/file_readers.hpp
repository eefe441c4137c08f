// File readers: parse each kind of file that the product publishes, by its format alone.
//
// They share no code with the product, and check every number against the size of the file before
// they use it. They report a problem as a readable sentence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace lastref::harness::oracle {

/// The content, or why the file is not whole.
template <typename T>
using ReadFile = tl::expected<T, std::string>;

inline tl::unexpected<std::string> not_whole(std::string why) {
  return tl::unexpected<std::string>(std::move(why));
}

/// Views into the bytes of the file.
struct StoredValue {
  std::uint64_t slot = 0;
  std::string_view bytes;
};

struct LiveCache {
  bool is_frozen = false;
  std::vector<StoredValue> values = {};  ///< By slot.
};

struct LedgerContent {
  /// "file:/run/a", in the format of the journal, for each name that is not forgotten.
  std::vector<std::string> names;
  /// A part of another record, which does not count, follows the last record.
  bool is_cut_short = false;
};

/// The data of an array in NumPy's format. They begin at a multiple of 64 and end with the file.
///
/// Source          NumPy Enhancement Proposal 1, and numpy/lib/format.py.
ReadFile<std::string_view> read_array_file(std::string_view bytes);

/// The file of a cache that processes may be writing to: each slot with a value points to a whole
/// record of its own.
///
/// Source          the layout in impl/cache/live_file.hpp.
ReadFile<LiveCache> read_live_cache(std::string_view bytes);

/// A preserved cache, in pfio's format: one entry per slot, then the values, each in its own place,
/// with no gaps between them and nothing after them.
///
/// Source          the layout in impl/cache/snapshot.hpp.
ReadFile<std::vector<StoredValue>> read_preserved_cache(std::string_view bytes);

/// The names recorded in the ledger of a tree.
///
/// Source          the layout in impl/tracker/ledger.hpp.
ReadFile<LedgerContent> read_ledger(std::string_view bytes);

/// `size` bytes at `at` as a little-endian number. The bytes must exist.
constexpr std::uint64_t number_in(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t index = size; index > 0; --index) {
    number = number << 8U | static_cast<unsigned char>(bytes[at + index - 1]);
  }
  return number;
}

}  // namespace lastref::harness::oracle
