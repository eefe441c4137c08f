#include "bench/perf/sqlite.hpp"

#include <sqlite3.h>

namespace lastref::perf {
namespace {

/// How long to wait for another writer. A record is written in milliseconds.
constexpr int patience_ms = 60'000;

SqliteError error_of(sqlite3* database, int code) {
  return {.code = code,
          .said = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code)};
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(sqlite3* database, std::string_view text) : database_(database) {
  sqlite3_stmt* made = nullptr;
  keep(sqlite3_prepare_v2(database, text.data(), static_cast<int>(text.size()), &made, nullptr));
  statement_.reset(made);
}

void Statement::keep(int code) {
  if (code != SQLITE_OK && error_.code == 0) {
    error_ = error_of(database_, code);
  }
}

Statement& Statement::bind(std::int64_t value) {
  keep(sqlite3_bind_int64(statement_.get(), next_++, value));
  return *this;
}

Statement& Statement::bind(double value) {
  keep(sqlite3_bind_double(statement_.get(), next_++, value));
  return *this;
}

Statement& Statement::bind(std::string_view value) {
  // Copied, because the value need not outlive this call.
  keep(sqlite3_bind_text64(
      statement_.get(), next_++, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_nothing() {
  keep(sqlite3_bind_null(statement_.get(), next_++));
  return *this;
}

SqliteResult<bool> Statement::step() {
  if (error_.code != 0) {
    return tl::unexpected(error_);
  }
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code == SQLITE_DONE) {
    return false;
  }
  return tl::unexpected(error_of(database_, code));
}

SqliteStatus Statement::run() {
  const auto stepped = step();
  sqlite3_reset(statement_.get());
  next_ = 1;
  if (!stepped) {
    return tl::unexpected(stepped.error());
  }
  return {};
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const void* const bytes = sqlite3_column_blob(statement_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

bool Statement::is_nothing(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

void Database::Close::operator()(sqlite3* database) const {
  sqlite3_close(database);
}

SqliteResult<Database> Database::open(const std::string& path, Mode mode) {
  const int flags =
      mode == Mode::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
  Database database;
  database.database_.reset(opened);
  if (code != SQLITE_OK) {
    return tl::unexpected(error_of(opened, code));
  }
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_timeout(opened, patience_ms);
  return database;
}

SqliteStatus Database::run(const char* text) const {
  const int code = sqlite3_exec(database_.get(), text, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) {
    return tl::unexpected(error_of(database_.get(), code));
  }
  return {};
}

SqliteResult<std::int64_t> Database::number(std::string_view text) const {
  Statement asked = prepare(text);
  const auto stepped = asked.step();
  if (!stepped) {
    return tl::unexpected(stepped.error());
  }
  return *stepped ? asked.integer(0) : 0;
}

std::int64_t Database::last_row() const {
  return sqlite3_last_insert_rowid(database_.get());
}

Transaction::~Transaction() {
  if (is_open_) {
    static_cast<void>(database_.run("ROLLBACK"));
  }
}

SqliteStatus Transaction::begin(Kind kind) {
  SqliteStatus begun = database_.run(kind == Kind::write ? "BEGIN IMMEDIATE" : "BEGIN");
  is_open_ = begun.has_value();
  return begun;
}

SqliteStatus Transaction::commit() {
  SqliteStatus done = database_.run("COMMIT");
  is_open_ = is_open_ && !done.has_value();
  return done;
}

}  // namespace lastref::perf
