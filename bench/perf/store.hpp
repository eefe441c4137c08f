// store: the records of a history, in one small SQLite file.
//
// A record is one transaction: after a kill or on a full disk it is there as a whole or not at all.
// Two writers wait for each other. There is no write-ahead log, so the file can be copied alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "bench/perf/record.hpp"

struct sqlite3;

namespace lastref::perf {

/// Why the store failed; nothing is changed then.
struct StoreError {
  enum class Why : std::uint8_t {
    no_file,        ///< It does not exist, or its folder cannot be used.
    not_a_history,  ///< not a database, or one of another program
    later_version,  ///< made by a later version of this program
    read_only,      ///< The file is read-only.
    full,           ///< No space is left.
    busy,           ///< Another process has kept it for a minute.
    damaged,
    not_a_number,  ///< A time or counter of the record is not a number.
    failed,        ///< anything else; `said` is SQLite's message
  };
  Why why = Why::failed;
  std::string path;
  std::string said = {};
};

/// One line for the user: the file and what is wrong with it.
std::string describe(const StoreError& error);

template <typename T>
using StoreResult = tl::expected<T, StoreError>;

class Store {
 public:
  static constexpr std::int64_t version = 1;

  /// Creates the file and its folder if they do not exist.
  static StoreResult<Store> open_to_write(const std::filesystem::path& path);
  static StoreResult<Store> open_to_read(const std::filesystem::path& path);

  /// False if the same record is already there. Otherwise a file that is imported twice would count
  /// twice.
  StoreResult<bool> add(const Record& record);
  /// All records, in the order in which they were added.
  StoreResult<std::vector<Record>> records() const;
  /// Limits the file to `pages` pages of 4 KiB.
  StoreResult<void> limit(std::int64_t pages);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };

  /// Throws if the file cannot be opened.
  Store(const std::filesystem::path& path, int flags);

  std::string path_;
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace lastref::perf
