#include "bench/perf/store.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <concepts>

#include "harness/platform/hash.hpp"

namespace lastref::perf {
namespace {

/// How long to wait for another writer. A record is written in milliseconds.
constexpr int patience_ms = 60'000;
/// "lrpf": the application ID of the database, for SQLite and file(1).
constexpr std::int64_t application = 0x6c727066;

constexpr const char* store_tables = R"(
CREATE TABLE machines(
  id INTEGER PRIMARY KEY,
  processor TEXT NOT NULL, cores INTEGER NOT NULL, kernel TEXT NOT NULL, governor TEXT NOT NULL,
  is_virtual INTEGER NOT NULL,
  UNIQUE(processor, cores, kernel, governor, is_virtual)) STRICT;
CREATE TABLE commits(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE, time INTEGER NOT NULL, position INTEGER, subject TEXT NOT NULL) STRICT;
CREATE TABLE records(
  id INTEGER PRIMARY KEY,
  commit_id INTEGER NOT NULL REFERENCES commits(id),
  machine_id INTEGER NOT NULL REFERENCES machines(id),
  load REAL NOT NULL, compiler TEXT NOT NULL, flags TEXT NOT NULL, program TEXT NOT NULL,
  recorded INTEGER NOT NULL, digest INTEGER NOT NULL,
  UNIQUE(commit_id, machine_id, digest)) STRICT;
CREATE TABLE benchmarks(
  id INTEGER PRIMARY KEY,
  record_id INTEGER NOT NULL REFERENCES records(id),
  name TEXT NOT NULL, label TEXT NOT NULL, error TEXT NOT NULL,
  UNIQUE(record_id, name)) STRICT;
CREATE TABLE repetitions(
  benchmark_id INTEGER NOT NULL REFERENCES benchmarks(id), number INTEGER NOT NULL,
  wall_seconds REAL NOT NULL, processor_seconds REAL NOT NULL, iterations INTEGER NOT NULL,
  PRIMARY KEY(benchmark_id, number)) STRICT, WITHOUT ROWID;
CREATE TABLE counters(
  benchmark_id INTEGER NOT NULL REFERENCES benchmarks(id), name TEXT NOT NULL,
  number INTEGER NOT NULL, value REAL NOT NULL,
  PRIMARY KEY(benchmark_id, name, number)) STRICT, WITHOUT ROWID;
)";

constexpr std::string_view no_history = "is no history of lastref perf";

/// What is wrong with the file.
std::string reason_of(sqlite3* database, int code) {
  const std::string said = database == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database);
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      return std::string(no_history);
    case SQLITE_CANTOPEN:
      return "cannot be opened: " + said;
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "may only be read";
    case SQLITE_FULL:
      return "cannot grow: no space is left; nothing was recorded";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "has been kept by another program for a minute; nothing was recorded";
    case SQLITE_CORRUPT:
      return "is damaged";
    default:
      return "cannot be used: " + said;
  }
}

/// Throws the error of SQLite, if there is one.
void check(sqlite3* database, int code) {
  if (code != SQLITE_OK) {
    give_up("{}", reason_of(database, code));
  }
}

/// The result of `act`; its exceptions get the name of the file.
template <typename Act>
auto about(const std::string& path, Act act) try {
  return act();
} catch (const std::runtime_error& error) {
  give_up("{} {}", path, error.what());
}

/// A statement with its values.
class Statement {
 public:
  template <typename... Values>
  Statement(sqlite3* database, std::string_view text, const Values&... values)
      : database_(database) {
    sqlite3_stmt* made = nullptr;
    check(database,
          sqlite3_prepare_v2(database, text.data(), static_cast<int>(text.size()), &made, nullptr));
    statement_.reset(made);
    bind(values...);
  }

  /// Advances to the next row; false: there is none.
  bool step() {
    const int code = sqlite3_step(statement_.get());
    check(database_, code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code);
    return code == SQLITE_ROW;
  }
  /// Runs the statement to its end with these values, and resets it for others.
  template <typename... Values>
  void run(const Values&... values) {
    bind(values...);
    step();
    sqlite3_reset(statement_.get());
  }

  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  double real(int column) const { return sqlite3_column_double(statement_.get(), column); }
  std::string text(int column) const {
    const auto* const bytes =
        static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
    return bytes == nullptr ? std::string() : std::string(bytes, size);
  }
  std::optional<std::int64_t> maybe_integer(int column) const {
    return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL
               ? std::nullopt
               : std::optional(integer(column));
  }

 private:
  template <typename... Values>
  void bind(const Values&... values) {
    [[maybe_unused]] int at = 0;
    (check(database_, bind_one(++at, values)), ...);
  }
  template <std::integral Integer>
  int bind_one(int at, Integer value) {
    return sqlite3_bind_int64(statement_.get(), at, static_cast<std::int64_t>(value));
  }
  int bind_one(int at, double value) { return sqlite3_bind_double(statement_.get(), at, value); }
  int bind_one(int at, std::string_view value) {
    // Copied, because the value need not outlive this call.
    return sqlite3_bind_text64(
        statement_.get(), at, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  int bind_one(int at, const std::optional<std::int64_t>& value) {
    return value ? bind_one(at, *value) : sqlite3_bind_null(statement_.get(), at);
  }

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// Runs a statement to its end. Returns the single number that it gives, or 0.
template <typename... Values>
std::int64_t number(sqlite3* database, std::string_view text, const Values&... values) {
  Statement statement(database, text, values...);
  std::int64_t result = 0;
  while (statement.step()) {
    result = statement.integer(0);
  }
  return result;
}

/// Runs statements without values or rows.
void run(sqlite3* database, const std::string& text) {
  check(database, sqlite3_exec(database, text.c_str(), nullptr, nullptr, nullptr));
}

/// The destructor rolls the transaction back if it was not committed.
class Transaction {
 public:
  /// A writing transaction waits here for other writers: BEGIN IMMEDIATE.
  Transaction(sqlite3* database, const char* begin) : database_(database) { run(database, begin); }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    if (is_open_) {
      sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
    }
  }

  void commit() {
    run(database_, "COMMIT");
    is_open_ = false;
  }

 private:
  sqlite3* database_;
  bool is_open_ = true;
};

void check_kind(sqlite3* database, std::int64_t version) {
  const std::int64_t owner = number(database, "PRAGMA application_id");
  const bool is_new = owner == 0 && number(database, "SELECT count(*) FROM sqlite_schema") == 0;
  if (!is_new && owner != application) {
    give_up("{}", no_history);
  }
  if (version > Store::version) {
    give_up("was written by a later version of lastref perf: its version is {}, ours {}",
            version,
            Store::version);
  }
}

void make_tables(sqlite3* database) {
  Transaction transaction(database, "BEGIN IMMEDIATE");
  // Checked inside the transaction, because two processes may open an empty file at once.
  const std::int64_t version = number(database, "PRAGMA user_version");
  check_kind(database, version);
  if (version == 0) {
    run(database, store_tables);
    run(database,
        fmt::format(
            "PRAGMA application_id = {}; PRAGMA user_version = {}", application, Store::version));
    transaction.commit();
  }
}

/// The digest of all measurements and of the build. Records of a commit and machine with the same
/// digest are the same. Lengths come first, so that different texts cannot give the same bytes.
std::int64_t digest_of(const Record& record) {
  std::uint64_t digest = harness::hash_of("");
  const auto add_text = [&](const std::string& text) {
    digest = harness::hash_of(fmt::format("{}:{}", text.size(), text), digest);
  };
  const auto add_all = [&](const auto& values) {
    digest = harness::hash_of(fmt::format("{}:", values.size()), digest);
    for (const auto value : values) {
      digest = harness::hash_of(fmt::format("{:a};", static_cast<double>(value)), digest);
    }
  };
  for (const std::string& text : {record.program, record.compiler, record.flags}) {
    add_text(text);
  }
  for (const MeasuredBenchmark& benchmark : record.benchmarks) {
    for (const std::string& text : {benchmark.name, benchmark.label, benchmark.error}) {
      add_text(text);
    }
    add_all(benchmark.wall_seconds);
    add_all(benchmark.processor_seconds);
    add_all(benchmark.iterations);
    digest = harness::hash_of(fmt::format("{}:", benchmark.counters.size()), digest);
    for (const auto& [name, values] : benchmark.counters) {
      add_text(name);
      add_all(values);
    }
  }
  return static_cast<std::int64_t>(digest >> 1U);  // signed, as SQLite stores it
}

std::int64_t id_of(sqlite3* database, const Machine& machine) {
  const auto id_by = [&](std::string_view statement) {
    return number(database,
                  statement,
                  machine.processor,
                  machine.cores,
                  machine.kernel,
                  machine.governor,
                  machine.is_virtual);
  };
  id_by(
      "INSERT OR IGNORE INTO machines(processor, cores, kernel, governor, is_virtual) "
      "VALUES(?, ?, ?, ?, ?)");
  return id_by(
      "SELECT id FROM machines WHERE processor = ? AND cores = ? AND kernel = ? AND governor = ? "
      "AND is_virtual = ?");
}

std::int64_t id_of(sqlite3* database, const Commit& commit) {
  // The position may not have been known when the commit was first recorded.
  number(database,
         "INSERT INTO commits(name, time, subject, position) VALUES(?, ?, ?, ?) "
         "ON CONFLICT(name) DO UPDATE SET time = excluded.time, subject = excluded.subject, "
         "position = excluded.position WHERE position IS NULL AND excluded.position IS NOT NULL",
         commit.name,
         commit.time,
         commit.subject,
         commit.position);
  return number(database, "SELECT id FROM commits WHERE name = ?", commit.name);
}

/// False if the same record is already there. It writes several rows, so the caller needs a
/// transaction.
bool insert_record(sqlite3* database, const Record& record) {
  const std::int64_t id = number(database,
                                 "INSERT INTO records(commit_id, machine_id, load, compiler, "
                                 "flags, program, recorded, digest) VALUES(?, ?, ?, ?, ?, ?, ?, ?) "
                                 "ON CONFLICT DO NOTHING RETURNING id",
                                 id_of(database, record.commit),
                                 id_of(database, record.machine),
                                 record.machine.load,
                                 record.compiler,
                                 record.flags,
                                 record.program,
                                 record.recorded,
                                 digest_of(record));
  if (id == 0) {
    return false;
  }
  Statement named(database,
                  "INSERT INTO benchmarks(record_id, name, label, error) VALUES(?, ?, ?, ?)");
  Statement repetition(database, "INSERT INTO repetitions VALUES(?, ?, ?, ?, ?)");
  Statement counter(database, "INSERT INTO counters VALUES(?, ?, ?, ?)");
  for (const MeasuredBenchmark& each : record.benchmarks) {
    named.run(id, each.name, each.label, each.error);
    const std::int64_t benchmark = sqlite3_last_insert_rowid(database);
    for (std::size_t i = 0; i < each.wall_seconds.size(); ++i) {
      repetition.run(
          benchmark, i, each.wall_seconds[i], each.processor_seconds.at(i), each.iterations.at(i));
    }
    for (const auto& [name, values] : each.counters) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        counter.run(benchmark, name, i, values[i]);
      }
    }
  }
  return true;
}

Record record_in(const Statement& row) {
  return {.commit = {.name = row.text(1),
                     .time = row.integer(2),
                     .position = row.maybe_integer(3),
                     .subject = row.text(4)},
          .machine = {.processor = row.text(5),
                      .cores = static_cast<unsigned>(row.integer(6)),
                      .kernel = row.text(7),
                      .governor = row.text(8),
                      .is_virtual = row.integer(9) != 0,
                      .load = row.real(10)},
          .compiler = row.text(11),
          .flags = row.text(12),
          .program = row.text(13),
          .recorded = row.integer(14),
          .benchmarks = {}};
}

/// All records, in the order in which they were added.
std::vector<Record> read_records(sqlite3* database) {
  std::vector<Record> records;
  std::map<std::int64_t, std::size_t> record_of;
  Statement record(
      database,
      "SELECT records.id, commits.name, time, position, subject, processor, cores, kernel, "
      "governor, is_virtual, load, compiler, flags, program, recorded FROM records "
      "JOIN commits ON commits.id = commit_id JOIN machines ON machines.id = machine_id "
      "ORDER BY records.id");
  while (record.step()) {
    record_of[record.integer(0)] = records.size();
    records.push_back(record_in(record));
  }
  std::map<std::int64_t, std::pair<std::size_t, std::size_t>> place_of;
  const auto benchmark_of = [&](std::int64_t id) -> MeasuredBenchmark& {
    const auto [of, at] = place_of.at(id);
    return records[of].benchmarks[at];
  };
  Statement named(database, "SELECT id, record_id, name, label, error FROM benchmarks ORDER BY id");
  while (named.step()) {
    const std::size_t of = record_of.at(named.integer(1));
    place_of[named.integer(0)] = {of, records[of].benchmarks.size()};
    MeasuredBenchmark& benchmark = records[of].benchmarks.emplace_back();
    benchmark.name = named.text(2);
    benchmark.label = named.text(3);
    benchmark.error = named.text(4);
  }
  Statement repetition(database,
                       "SELECT benchmark_id, wall_seconds, processor_seconds, iterations "
                       "FROM repetitions ORDER BY benchmark_id, number");
  while (repetition.step()) {
    MeasuredBenchmark& benchmark = benchmark_of(repetition.integer(0));
    benchmark.wall_seconds.push_back(repetition.real(1));
    benchmark.processor_seconds.push_back(repetition.real(2));
    benchmark.iterations.push_back(static_cast<std::uint64_t>(repetition.integer(3)));
  }
  Statement counter(
      database,
      "SELECT benchmark_id, name, value FROM counters ORDER BY benchmark_id, name, number");
  while (counter.step()) {
    benchmark_of(counter.integer(0)).counters[counter.text(1)].push_back(counter.real(2));
  }
  return records;
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

void Store::Close::operator()(sqlite3* database) const {
  sqlite3_close(database);
}

Store::Store(const std::filesystem::path& path, int flags) : path_(path.string()) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path_.c_str(), &opened, flags, nullptr);
  database_.reset(opened);
  check(opened, code);
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_timeout(opened, patience_ms);
}

Store Store::open_to_write(const std::filesystem::path& path) {
  return about(path.string(), [&] {
    std::error_code error;
    if (path.has_parent_path()) {
      std::filesystem::create_directories(path.parent_path(), error);
    }
    if (error) {
      give_up("cannot be opened: {}", error.message());
    }
    Store store(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    make_tables(store.database_.get());
    return store;
  });
}

Store Store::open_to_read(const std::filesystem::path& path) {
  return about(path.string(), [&] {
    Store store(path, SQLITE_OPEN_READONLY);
    const std::int64_t there = number(store.database_.get(), "PRAGMA user_version");
    check_kind(store.database_.get(), there);
    if (there == 0) {
      give_up("{}", no_history);
    }
    return store;
  });
}

void Store::limit(std::int64_t pages) {
  number(database_.get(), fmt::format("PRAGMA max_page_count = {}", pages));
}

bool Store::add(const Record& record) {
  return about(path_, [&] {
    if (!has_only_numbers(record)) {
      give_up("takes no time that is not a number");
    }
    Transaction transaction(database_.get(), "BEGIN IMMEDIATE");
    const bool is_new = insert_record(database_.get(), record);
    transaction.commit();
    return is_new;
  });
}

std::vector<Record> Store::records() const {
  return about(path_, [&] {
    const Transaction transaction(database_.get(), "BEGIN");
    return read_records(database_.get());
  });
}

}  // namespace lastref::perf
