// Sqlite: the few calls of SQLite that the store makes, each with its error in the hand.
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

/// What SQLite answered; 0 is none of them.
struct SqliteError {
  int code = 0;  ///< extended
  std::string said;
};
template <typename T>
using SqliteResult = tl::expected<T, SqliteError>;
using SqliteStatus = SqliteResult<void>;

/// A statement with its values. Whatever goes wrong is kept until `step` is asked.
class Statement {
 public:
  Statement(sqlite3* database, std::string_view text);

  Statement& bind(std::int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view value);
  Statement& bind_nothing();

  /// Whether there is another row.
  SqliteResult<bool> step();
  /// Runs it to its end and makes it ready for other values.
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

  /// To write, the file is made if there is none.
  static SqliteResult<Database> open(const std::string& path, Mode mode);

  Statement prepare(std::string_view text) const { return {database_.get(), text}; }
  /// Statements without values or rows.
  SqliteStatus run(const char* text) const;
  /// The one number that a statement answers with.
  SqliteResult<std::int64_t> number(std::string_view text) const;
  std::int64_t last_row() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
};

/// From `begin` to `commit`; taken back if it does not come that far.
class Transaction {
 public:
  enum class Kind : std::uint8_t { read, write };

  explicit Transaction(const Database& database) : database_(database) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  /// One that writes waits here for others that write.
  SqliteStatus begin(Kind kind);
  SqliteStatus commit();

 private:
  const Database& database_;
  bool is_open_ = false;
};

}  // namespace lastref::perf
