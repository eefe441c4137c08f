// store: the records of a history, in one small SQLite file.
//
// A record is one transaction: after a kill or on a full disk it is there as a whole or not at all.
// Two writers wait for each other. There is no write-ahead log, so the file can be copied alone.
#pragma once

#include <filesystem>
#include <memory>

#include "bench/perf/record.hpp"

struct sqlite3;

namespace lastref::perf {

/// Throws          std::runtime_error, which names the file and what is wrong with it; then nothing
///                 has changed
class Store {
 public:
  static constexpr std::int64_t version = 1;

  /// Creates the file and its folder if they do not exist.
  static Store open_to_write(const std::filesystem::path& path);
  static Store open_to_read(const std::filesystem::path& path);

  /// False if the same record is already there. Otherwise a file that is imported twice would count
  /// twice.
  bool add(const Record& record);
  /// All records, in the order in which they were added.
  std::vector<Record> records() const;
  /// Limits the file to `pages` pages of 4 KiB.
  void limit(std::int64_t pages);

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
