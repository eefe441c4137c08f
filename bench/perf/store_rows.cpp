#include "bench/perf/store_rows.hpp"

#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace lastref::perf {
namespace {

/// FNV-1a.
class Digest {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) {
      value_ = (value_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
    }
  }
  void add(double value) { add(fmt::format("{:a};", value)); }
  /// Adds the length first, so that different texts cannot give the same bytes.
  void add_whole(std::string_view text) {
    add(fmt::format("{}:", text.size()));
    add(text);
  }
  template <typename Value>
  void add_all(const std::vector<Value>& values) {
    add(fmt::format("{}:", values.size()));
    for (const Value value : values) {
      add(static_cast<double>(value));
    }
  }

  /// A signed number, as SQLite stores it.
  std::int64_t value() const { return static_cast<std::int64_t>(value_ >> 1U); }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

/// The digest of all measurements and of the build. Records of a commit and machine with the same
/// digest are the same.
std::int64_t digest_of(const Record& record) {
  Digest digest;
  for (const std::string& text : {record.program, record.compiler, record.flags}) {
    digest.add_whole(text);
  }
  for (const MeasuredBenchmark& benchmark : record.benchmarks) {
    for (const std::string& text : {benchmark.name, benchmark.label, benchmark.error}) {
      digest.add_whole(text);
    }
    digest.add_all(benchmark.wall_seconds);
    digest.add_all(benchmark.processor_seconds);
    digest.add_all(benchmark.iterations);
    digest.add(fmt::format("{}:", benchmark.counters.size()));
    for (const auto& [name, values] : benchmark.counters) {
      digest.add_whole(name);
      digest.add_all(values);
    }
  }
  return digest.value();
}

/// The digest in the first histories: only of names and times.
std::int64_t earlier_digest_of(const Record& record) {
  Digest digest;
  for (const MeasuredBenchmark& benchmark : record.benchmarks) {
    digest.add(benchmark.name);
    for (const double seconds : benchmark.wall_seconds) {
      digest.add(seconds);
    }
    for (const double seconds : benchmark.processor_seconds) {
      digest.add(seconds);
    }
  }
  return digest.value();
}

/// Inserts the row of a machine or commit, which may already be there, and returns its id.
SqliteResult<std::int64_t> id_by(Statement& insert, Statement& select) {
  if (auto done = insert.run(); !done) {
    return tl::unexpected(done.error());
  }
  const auto found = select.step();
  if (!found) {
    return tl::unexpected(found.error());
  }
  return select.integer(0);
}

SqliteResult<std::int64_t> id_of(const Database& database, const Machine& machine) {
  const auto bind = [&](Statement statement) {
    statement.bind(machine.processor).bind(std::int64_t{machine.cores}).bind(machine.kernel);
    statement.bind(machine.governor).bind(std::int64_t{machine.is_virtual ? 1 : 0});
    return statement;
  };
  Statement insert = bind(database.prepare(
      "INSERT OR IGNORE INTO machines(processor, cores, kernel, governor, is_virtual) "
      "VALUES(?, ?, ?, ?, ?)"));
  Statement select = bind(database.prepare(
      "SELECT id FROM machines WHERE processor = ? AND cores = ? AND kernel = ? AND governor = ? "
      "AND is_virtual = ?"));
  return id_by(insert, select);
}

SqliteResult<std::int64_t> id_of(const Database& database, const Commit& commit) {
  // The position may not have been known when the commit was first recorded.
  Statement insert = database.prepare(
      "INSERT INTO commits(name, time, subject, position) VALUES(?, ?, ?, ?) "
      "ON CONFLICT(name) DO UPDATE SET time = excluded.time, subject = excluded.subject, "
      "position = excluded.position WHERE position IS NULL AND excluded.position IS NOT NULL");
  insert.bind(commit.name).bind(commit.time).bind(commit.subject);
  if (commit.position) {
    insert.bind(*commit.position);
  } else {
    insert.bind_nothing();
  }
  Statement select = database.prepare("SELECT id FROM commits WHERE name = ?");
  select.bind(commit.name);
  return id_by(insert, select);
}

SqliteStatus insert_values(const Database& database,
                           std::int64_t id,
                           const MeasuredBenchmark& benchmark) {
  Statement repetition = database.prepare("INSERT INTO repetitions VALUES(?, ?, ?, ?, ?)");
  for (std::size_t i = 0; i < benchmark.wall_seconds.size(); ++i) {
    repetition.bind(id).bind(static_cast<std::int64_t>(i)).bind(benchmark.wall_seconds[i]);
    repetition.bind(benchmark.processor_seconds.at(i));
    if (auto done = repetition.bind(static_cast<std::int64_t>(benchmark.iterations.at(i))).run();
        !done) {
      return done;
    }
  }
  Statement counter = database.prepare("INSERT INTO counters VALUES(?, ?, ?, ?)");
  for (const auto& [name, values] : benchmark.counters) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      counter.bind(id).bind(name).bind(static_cast<std::int64_t>(i)).bind(values[i]);
      if (auto done = counter.run(); !done) {
        return done;
      }
    }
  }
  return {};
}

/// Calls `take` for each row of a statement.
template <typename Take>
SqliteStatus each_row(const Database& database, const char* text, Take take) {
  Statement select = database.prepare(text);
  for (;;) {
    const auto more = select.step();
    if (!more) {
      return tl::unexpected(more.error());
    }
    if (!*more) {
      return {};
    }
    take(select);
  }
}

Record record_in(const Statement& row) {
  Record record;
  record.commit = {.name = row.text(1), .time = row.integer(2), .subject = row.text(4)};
  if (!row.is_nothing(3)) {
    record.commit.position = row.integer(3);
  }
  record.machine = {.processor = row.text(5),
                    .cores = static_cast<unsigned>(row.integer(6)),
                    .kernel = row.text(7),
                    .governor = row.text(8),
                    .is_virtual = row.integer(9) != 0,
                    .load = row.real(10)};
  record.compiler = row.text(11);
  record.flags = row.text(12);
  record.program = row.text(13);
  record.recorded = row.integer(14);
  return record;
}

using Places = std::map<std::int64_t, std::pair<std::size_t, std::size_t>>;

}  // namespace

SqliteStatus read_records(const Database& database, std::vector<Record>& records) {
  std::map<std::int64_t, std::size_t> record_of;
  Places place_of;  // of a benchmark: its record, and its index there
  auto status = each_row(
      database,
      "SELECT records.id, commits.name, time, position, subject, processor, cores, kernel, "
      "governor, is_virtual, load, compiler, flags, program, recorded FROM records "
      "JOIN commits ON commits.id = commit_id JOIN machines ON machines.id = machine_id "
      "ORDER BY records.id",
      [&](const Statement& row) {
        record_of[row.integer(0)] = records.size();
        records.push_back(record_in(row));
      });
  if (!status) {
    return status;
  }
  const auto benchmark_of = [&](const Statement& row) -> MeasuredBenchmark& {
    const auto [record, at] = place_of.at(row.integer(0));
    return records[record].benchmarks[at];
  };
  status = each_row(database,
                    "SELECT id, record_id, name, label, error FROM benchmarks ORDER BY id",
                    [&](const Statement& row) {
                      const std::size_t record = record_of.at(row.integer(1));
                      auto& all = records[record].benchmarks;
                      place_of[row.integer(0)] = {record, all.size()};
                      all.push_back({.name = row.text(2),
                                     .wall_seconds = {},
                                     .processor_seconds = {},
                                     .iterations = {},
                                     .label = row.text(3),
                                     .error = row.text(4)});
                    });
  if (!status) {
    return status;
  }
  status = each_row(database,
                    "SELECT benchmark_id, wall_seconds, processor_seconds, iterations "
                    "FROM repetitions ORDER BY benchmark_id, number",
                    [&](const Statement& row) {
                      MeasuredBenchmark& benchmark = benchmark_of(row);
                      benchmark.wall_seconds.push_back(row.real(1));
                      benchmark.processor_seconds.push_back(row.real(2));
                      benchmark.iterations.push_back(static_cast<std::uint64_t>(row.integer(3)));
                    });
  if (!status) {
    return status;
  }
  return each_row(
      database,
      "SELECT benchmark_id, name, value FROM counters ORDER BY benchmark_id, name, number",
      [&](const Statement& row) {
        benchmark_of(row).counters[row.text(1)].push_back(row.real(2));
      });
}

SqliteResult<bool> insert_record(const Database& database, const Record& record) {
  const auto commit = id_of(database, record.commit);
  const auto machine = commit ? id_of(database, record.machine) : commit;
  if (!machine) {
    return tl::unexpected(machine.error());
  }
  Statement earlier = database.prepare(
      "SELECT 1 FROM records WHERE commit_id = ? AND machine_id = ? AND digest = ? AND "
      "compiler = ? AND flags = ? AND program = ?");
  earlier.bind(*commit).bind(*machine).bind(earlier_digest_of(record));
  earlier.bind(record.compiler).bind(record.flags).bind(record.program);
  if (const auto is_known = earlier.step(); !is_known || *is_known) {
    return is_known.map([](bool) { return false; });
  }
  Statement insert = database.prepare(
      "INSERT INTO records(commit_id, machine_id, load, compiler, flags, program, recorded, "
      "digest) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id");
  insert.bind(*commit).bind(*machine).bind(record.machine.load).bind(record.compiler);
  insert.bind(record.flags).bind(record.program).bind(record.recorded).bind(digest_of(record));
  auto is_new = insert.step();
  if (!is_new || !*is_new) {
    return is_new;
  }
  const std::int64_t id = insert.integer(0);
  if (auto ended = insert.step(); !ended) {
    return ended;
  }
  Statement named =
      database.prepare("INSERT INTO benchmarks(record_id, name, label, error) VALUES(?, ?, ?, ?)");
  for (const MeasuredBenchmark& benchmark : record.benchmarks) {
    named.bind(id).bind(benchmark.name).bind(benchmark.label).bind(benchmark.error);
    auto done = named.run();
    if (done) {
      done = insert_values(database, database.last_row(), benchmark);
    }
    if (!done) {
      return tl::unexpected(done.error());
    }
  }
  return true;
}

}  // namespace lastref::perf
