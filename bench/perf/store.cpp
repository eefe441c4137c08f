#include "bench/perf/store.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "bench/perf/store_rows.hpp"

namespace lastref::perf {
namespace {

using Why = StoreError::Why;

/// "lrpf": the application ID of the database, for SQLite and file(1).
constexpr std::int64_t application = 0x6c727066;

Why why_of(int code) {
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      return Why::not_a_history;
    case SQLITE_CANTOPEN:
      return Why::no_file;
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return Why::read_only;
    case SQLITE_FULL:
      return Why::full;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Why::busy;
    case SQLITE_CORRUPT:
      return Why::damaged;
    default:
      return Why::failed;
  }
}

std::string_view words_of(Why why) {
  switch (why) {
    case Why::no_file:
      return "cannot be opened";
    case Why::not_a_history:
      return "is no history of lastref perf";
    case Why::later_version:
      return "was written by a later version of lastref perf";
    case Why::read_only:
      return "may only be read";
    case Why::full:
      return "cannot grow: no space is left; nothing was recorded";
    case Why::busy:
      return "has been kept by another program for a minute; nothing was recorded";
    case Why::damaged:
      return "is damaged";
    case Why::not_a_number:
      return "takes no time that is not a number";
    case Why::failed:
      break;
  }
  return "cannot be used";
}

tl::unexpected<StoreError> failed(const std::string& path, Why why, std::string said = {}) {
  return tl::unexpected(StoreError{.why = why, .path = path, .said = std::move(said)});
}

tl::unexpected<StoreError> failed(const std::string& path, const SqliteError& error) {
  const Why why = why_of(error.code);
  return failed(path, why, why == Why::failed || why == Why::no_file ? error.said : std::string());
}

bool has_only_numbers(const Record& record) {
  const auto are_numbers = [](const std::vector<double>& values) {
    return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
  };
  return std::ranges::all_of(record.benchmarks, [&](const MeasuredBenchmark& benchmark) {
    return are_numbers(benchmark.wall_seconds) && are_numbers(benchmark.processor_seconds) &&
           std::ranges::all_of(benchmark.counters,
                               [&](const auto& counter) { return are_numbers(counter.second); });
  });
}

}  // namespace

std::string describe(const StoreError& error) {
  return fmt::format(
      "{} {}{}{}", error.path, words_of(error.why), error.said.empty() ? "" : ": ", error.said);
}

StoreResult<void> Store::check_kind(std::int64_t version_there) const {
  const auto whose = database_.number("PRAGMA application_id");
  const auto tables_there = database_.number("SELECT count(*) FROM sqlite_schema");
  if (!whose || !tables_there) {
    return failed(path_, whose ? tables_there.error() : whose.error());
  }
  const bool is_new = *tables_there == 0 && *whose == 0;
  if (!is_new && *whose != application) {
    return failed(path_, Why::not_a_history);
  }
  if (version_there > version) {
    return failed(path_,
                  Why::later_version,
                  fmt::format("its version is {}, ours {}", version_there, version));
  }
  return {};
}

StoreResult<void> Store::make_tables() const {
  Transaction transaction(database_);
  if (const auto begun = transaction.begin(Transaction::Kind::write); !begun) {
    return failed(path_, begun.error());
  }
  // Checked inside the transaction, because two processes may open an empty file at once.
  const auto there = database_.number("PRAGMA user_version");
  if (!there) {
    return failed(path_, there.error());
  }
  if (auto kind = check_kind(*there); !kind || *there != 0) {
    return kind;
  }
  const std::string marks =
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", application, version);
  for (const char* const text : {store_tables, marks.c_str()}) {
    if (const auto done = database_.run(text); !done) {
      return failed(path_, done.error());
    }
  }
  if (const auto done = transaction.commit(); !done) {
    return failed(path_, done.error());
  }
  return {};
}

StoreResult<Store> Store::open_to_write(const std::filesystem::path& path) {
  std::error_code error;
  if (path.has_parent_path()) {
    std::filesystem::create_directories(path.parent_path(), error);
  }
  if (error) {
    return failed(path.string(), Why::no_file, error.message());
  }
  auto database = Database::open(path.string(), Database::Mode::write);
  if (!database) {
    return failed(path.string(), database.error());
  }
  Store store(path.string(), *std::move(database));
  if (auto made = store.make_tables(); !made) {
    return tl::unexpected(made.error());
  }
  return store;
}

StoreResult<Store> Store::open_to_read(const std::filesystem::path& path) {
  auto database = Database::open(path.string(), Database::Mode::read);
  if (!database) {
    return failed(path.string(), database.error());
  }
  Store store(path.string(), *std::move(database));
  const auto there = store.database_.number("PRAGMA user_version");
  if (!there) {
    return failed(path.string(), there.error());
  }
  if (auto kind = store.check_kind(*there); !kind) {
    return tl::unexpected(kind.error());
  }
  if (*there == 0) {
    return failed(path.string(), Why::not_a_history);
  }
  return store;
}

StoreResult<void> Store::limit(std::int64_t pages) {
  const auto limited = database_.number(fmt::format("PRAGMA max_page_count = {}", pages));
  if (!limited) {
    return failed(path_, limited.error());
  }
  return {};
}

StoreResult<bool> Store::add(const Record& record) {
  if (!has_only_numbers(record)) {
    return failed(path_, Why::not_a_number);
  }
  Transaction transaction(database_);
  if (const auto begun = transaction.begin(Transaction::Kind::write); !begun) {
    return failed(path_, begun.error());
  }
  const auto inserted = insert_record(database_, record);
  if (!inserted) {
    return failed(path_, inserted.error());
  }
  if (const auto done = transaction.commit(); !done) {
    return failed(path_, done.error());
  }
  return *inserted;
}

StoreResult<std::vector<Record>> Store::records() const {
  Transaction transaction(database_);
  if (const auto begun = transaction.begin(Transaction::Kind::read); !begun) {
    return failed(path_, begun.error());
  }
  std::vector<Record> records;
  if (const auto done = read_records(database_, records); !done) {
    return failed(path_, done.error());
  }
  return records;
}

}  // namespace lastref::perf
