// Records of a history: their machine, runs of other projects, and the store.
#include "bench/perf/store.hpp"

#include <sqlite3.h>

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "property_tests/support/fresh_folder.hpp"

namespace lastref::perf {
namespace {

using pretend::FreshFolder;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(MachineTest, says_what_it_is_whatever_its_load) {
  Machine machine = this_machine();
  EXPECT_GE(machine.cores, 1U);
  EXPECT_FALSE(machine.kernel.empty());
  const std::string name = name_of(machine);
  EXPECT_THAT(name, HasSubstr(machine.kernel));
  machine.load += 1;
  EXPECT_EQ(name_of(machine), name);
}

TEST(MachineTest, has_a_name_where_nothing_is_told) {
  EXPECT_EQ(name_of({.processor = "", .cores = 1, .kernel = "6.1", .governor = ""}),
            "unknown processor, 1 cores, Linux 6.1, no governor told");
}

TEST(Foreign, is_of_its_own_machine_and_time) {
  BenchmarkRun run;
  run.context = {{"date", "2024-05-01T12:00:00+02:00"},
                 {"host_name", "theirs"},
                 {"num_cpus", "64"},
                 {"load_avg", "[1.5,1,1]"},
                 {"executable", "./out/their_bench"}};
  const Record record = record_of_foreign(run, 7);
  EXPECT_EQ(record.recorded, 1714557600);
  EXPECT_EQ(record.program, "their_bench");
  EXPECT_EQ(record.machine.processor, "host theirs");
  EXPECT_EQ(record.machine.cores, 64U);
  EXPECT_EQ(record.machine.load, 1.5);
}

TEST(Foreign, may_tell_nothing) {
  const Record record = record_of_foreign({}, 7);
  EXPECT_EQ(record.recorded, 7);
  EXPECT_EQ(record.commit.name, "unknown");
  EXPECT_EQ(record.machine.processor, "host unknown");
}

TEST(Foreign, knows_east_and_west) {
  BenchmarkRun run;
  for (const char* const date : {"2024-05-01T10:00:00Z",
                                 "2024-05-01T15:30:00+05:30",
                                 "2024-05-01T06:30:00-03:30",
                                 "2024-05-01T09:30:00-00:30"}) {
    run.context["date"] = date;
    EXPECT_EQ(record_of_foreign(run, 7).recorded, 1714557600) << date;
  }
  run.context["date"] = "yesterday";
  EXPECT_EQ(record_of_foreign(run, 7).recorded, 7);
}

Record record_of(const std::string& commit) {
  return {.commit = {.name = commit, .time = 1000, .position = 7, .subject = "room: do it"},
          .machine = {.processor = "A processor",
                      .cores = 2,
                      .kernel = "6.1",
                      .governor = "performance",
                      .is_virtual = true,
                      .load = 0.5},
          .compiler = "GNU 12.2.0",
          .flags = "-O2",
          .program = "a_bench",
          .recorded = 2000,
          .benchmarks = {{.name = "fast/1",
                          .wall_seconds = {1e-9, 3e-9},
                          .processor_seconds = {2e-9, 4e-9},
                          .iterations = {10, 20},
                          .counters = {{"other", {1.5, 2.5}}, {"third", {3}}},
                          .label = "without x",
                          .error = ""},
                         {.name = "broken",
                          .wall_seconds = {},
                          .processor_seconds = {},
                          .iterations = {},
                          .error = "could not"}}};
}

/// What another program does to the database.
void execute(const std::string& path, const char* statements) {
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, statements, nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_close(database), SQLITE_OK);
}

/// A history in a folder of its own, where nothing else is left.
class StoreTest : public testing::Test {
 protected:
  ~StoreTest() override { folder.remove("history.sqlite"); }

  Store written() const { return Store::open_to_write(path); }
  std::vector<Record> read() const { return Store::open_to_read(path).records(); }

  /// Neither opens it, for this reason.
  void expect_refused(const std::string& why) const {
    for (const auto open : {&Store::open_to_read, &Store::open_to_write}) {
      EXPECT_THAT([&] { open(path); }, ThrowsMessage<std::runtime_error>(HasSubstr(path + why)));
    }
  }

  FreshFolder folder;
  std::string path = folder.path("history.sqlite");
};

TEST_F(StoreTest, gives_back_what_it_was_given) {
  const Record first = record_of("first");
  Record second = record_of("second");
  second.commit.position.reset();
  EXPECT_TRUE(written().add(first));
  EXPECT_TRUE(written().add(second));
  EXPECT_TRUE(read() == (std::vector<Record>{first, second}));
}

RC_GTEST_PROP(StoreProperties, any_names_and_numbers_come_back_as_they_were, ()) {
  FreshFolder folder;
  Record record = record_of(*rc::gen::arbitrary<std::string>());
  record.commit.subject = *rc::gen::arbitrary<std::string>();
  record.flags = *rc::gen::arbitrary<std::string>();
  MeasuredBenchmark& benchmark = record.benchmarks.front();
  benchmark.name = *rc::gen::arbitrary<std::string>();
  benchmark.label = *rc::gen::arbitrary<std::string>();
  benchmark.counters = {{*rc::gen::arbitrary<std::string>(), {*rc::gen::arbitrary<double>()}}};
  benchmark.wall_seconds[0] = *rc::gen::arbitrary<double>();
  RC_PRE(std::isfinite(benchmark.wall_seconds[0]));
  RC_ASSERT(Store::open_to_write(folder.path("h")).add(record));
  RC_ASSERT(Store::open_to_read(folder.path("h")).records() == std::vector{record});
  folder.remove("h");
}

TEST_F(StoreTest, takes_records_for_others_whatever_they_differ_in) {
  const auto change = [](auto what) {
    Record record = record_of("first");
    what(record, record.benchmarks.front());
    return record;
  };
  using Benchmark = MeasuredBenchmark;
  const std::vector<Record> all = {
      record_of("first"),
      record_of("second"),
      change([](Record& record, Benchmark&) { record.program = "other"; }),
      change([](Record& record, Benchmark&) { record.compiler = "Clang 14"; }),
      change([](Record& record, Benchmark&) { record.flags = "-O3"; }),
      change([](Record& record, Benchmark&) { record.compiler += record.flags[0]; }),
      change([](Record&, Benchmark& benchmark) { benchmark.error = "could not, once"; }),
      change([](Record&, Benchmark& benchmark) { benchmark.label = "with x"; }),
      change([](Record&, Benchmark& benchmark) { benchmark.wall_seconds[0] += 1e-12; }),
      change([](Record&, Benchmark& benchmark) { benchmark.iterations[0] = 11; }),
      change([](Record&, Benchmark& benchmark) { benchmark.counters["third"] = {4}; }),
      change([](Record&, Benchmark& benchmark) { benchmark.counters["fourth"] = {3}; })};
  Store store = written();
  for (const bool is_new : {true, false}) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(store.add(all[i]), is_new) << i;
    }
  }
  EXPECT_EQ(store.records().size(), all.size());
}

TEST_F(StoreTest, learns_later_where_a_commit_stands) {
  Record unknown = record_of("first");
  unknown.commit = {.name = "first", .time = 5};
  Record known = record_of("first");
  known.benchmarks.front().wall_seconds.front() += 1;
  EXPECT_TRUE(written().add(unknown));
  EXPECT_TRUE(written().add(known));
  EXPECT_EQ(read().front().commit, known.commit);
}

TEST_F(StoreTest, says_that_a_file_is_not_there) {
  EXPECT_THAT([&] { read(); },
              ThrowsMessage<std::runtime_error>(HasSubstr(path + " cannot be opened")));
  path = "/proc/nowhere/h.sqlite";
  expect_refused(" cannot be opened");
}

TEST_F(StoreTest, refuses_what_is_no_history) {
  const std::string words(5000, 'x');
  folder.write("history.sqlite", words);
  expect_refused(" is no history of lastref perf");
  EXPECT_EQ(folder.read("history.sqlite"), words) << "it is another program's";
}

TEST_F(StoreTest, refuses_a_database_of_another_program) {
  execute(path, "CREATE TABLE theirs(x); PRAGMA user_version = 1");
  expect_refused(" is no history of lastref perf");
}

TEST_F(StoreTest, refuses_a_later_version_and_says_which) {
  written();
  execute(path, "PRAGMA user_version = 9");
  expect_refused(" was written by a later version of lastref perf: its version is 9, ours 1");
}

TEST_F(StoreTest, keeps_what_it_has_if_nothing_can_be_added) {
  Store store = written();
  const Record first = record_of("first");
  EXPECT_TRUE(store.add(first));
  const auto expect = [&](Store& into, const Record& record, const char* why) {
    EXPECT_THAT([&] { into.add(record); }, ThrowsMessage<std::runtime_error>(HasSubstr(why)));
    EXPECT_TRUE(into.records() == std::vector{first}) << why;
  };
  Store read_only = Store::open_to_read(path);
  expect(read_only, record_of("second"), "may only be read");
  Record record = record_of("second");
  record.benchmarks.front().wall_seconds.front() = std::numeric_limits<double>::quiet_NaN();
  expect(store, record, "not a number");
  record = record_of("second");
  record.benchmarks.front().label = std::string(1'000'000, 'x');
  store.limit(1);
  expect(store, record, "no space is left");
}

TEST_F(StoreTest, says_that_a_file_is_damaged) {
  Record large = record_of("first");
  large.benchmarks.front().label = std::string(20'000, 'x');
  EXPECT_TRUE(written().add(large));
  std::string bytes = folder.read("history.sqlite");
  std::fill(bytes.begin() + 4096, bytes.end(), '\xff');
  folder.write("history.sqlite", bytes);
  EXPECT_THAT([&] { read(); }, ThrowsMessage<std::runtime_error>(HasSubstr("is damaged")));
}

}  // namespace
}  // namespace lastref::perf
