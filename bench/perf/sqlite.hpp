// Sqlite: the few SQLite calls that the store makes; each returns its error.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

struct sqlite3;
struct sqlite3_stmt;

namespace lastref::perf {

/// An error of SQLite; its code is not 0.
struct SqliteError {
  int code = 0;  ///< extended
  std::string said;
};
template <typename T>
using SqliteResult = tl::expected<T, SqliteError>;
using SqliteStatus = SqliteResult<void>;

/// A statement with its values. An error is kept and returned by `step`.
class Statement {
 public:
  Statement(sqlite3* database, std::string_view text);

  Statement& bind(std::int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view value);
  Statement& bind_nothing();

  /// Advances to the next row; false: there is none.
  SqliteResult<bool> step();
  /// Runs the statement to its end and resets it for other values.
  SqliteStatus run();

  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  bool is_nothing(int column) const;

 private:
  void keep(int code);

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int next_ = 1;  ///< index of the value that is bound next; from 1, as SQLite counts
  SqliteError error_;
};

class Database {
 public:
  enum class Mode : std::uint8_t { read, write };

  /// In write mode the file is created if it does not exist.
  static SqliteResult<Database> open(const std::string& path, Mode mode);

  Statement prepare(std::string_view text) const { return {database_.get(), text}; }
  /// Statements without values or rows.
  SqliteStatus run(const char* text) const;
  /// The single number that a statement returns.
  SqliteResult<std::int64_t> number(std::string_view text) const;
  std::int64_t last_row() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
};

/// A transaction from `begin` to `commit`. The destructor rolls it back if it was not committed.
class Transaction {
 public:
  enum class Kind : std::uint8_t { read, write };

  explicit Transaction(const Database& database) : database_(database) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  /// A writing transaction waits here for other writers.
  SqliteStatus begin(Kind kind);
  SqliteStatus commit();

 private:
  const Database& database_;
  bool is_open_ = false;
};

}  // namespace lastref::perf
