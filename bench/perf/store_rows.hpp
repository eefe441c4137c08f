// store_rows: converts records to rows of the store's tables and back.
#pragma once

#include <vector>

#include "bench/perf/record.hpp"
#include "bench/perf/sqlite.hpp"

namespace lastref::perf {

inline constexpr const char* store_tables = R"(
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

/// False if the same record is already there. It writes several rows, so the caller needs a
/// transaction.
SqliteResult<bool> insert_record(const Database& database, const Record& record);

/// Appends all records, in the order in which they were added.
SqliteStatus read_records(const Database& database, std::vector<Record>& records);

}  // namespace lastref::perf
