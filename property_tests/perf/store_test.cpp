// Records of a history: their machine, runs of other projects, and the store.
#include "bench/perf/store.hpp"

#include <sqlite3.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "bench/perf/record.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref::perf {

namespace {

TEST(MachineTest, says_what_it_is) {
  const Machine machine = this_machine();
  EXPECT_GE(machine.cores, 1U);
  EXPECT_FALSE(machine.kernel.empty());
  EXPECT_NE(name_of(machine).find(machine.kernel), std::string::npos) << name_of(machine);
}

TEST(MachineTest, is_named_alike_whatever_its_load) {
  Machine machine = this_machine();
  const std::string name = name_of(machine);
  machine.load += 1;
  EXPECT_EQ(name_of(machine), name);
}

TEST(MachineTest, has_a_name_where_nothing_is_told) {
  EXPECT_EQ(name_of({.processor = "", .cores = 1, .kernel = "6.1", .governor = ""}),
            "unknown processor, 1 cores, Linux 6.1, no governor told");
}

using pretend::FreshFolder;
using testing::HasSubstr;

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

/// Compares what the store keeps. It may not confuse two numbers.
bool same(const MeasuredBenchmark& one, const MeasuredBenchmark& other) {
  return one.name == other.name && one.wall_seconds == other.wall_seconds &&
         one.processor_seconds == other.processor_seconds && one.iterations == other.iterations &&
         one.counters == other.counters && one.label == other.label && one.error == other.error;
}

void expect_same(const Record& one, const Record& other) {
  EXPECT_EQ(one.commit, other.commit);
  EXPECT_EQ(one.machine, other.machine);
  EXPECT_EQ(one.compiler, other.compiler);
  EXPECT_EQ(one.flags, other.flags);
  EXPECT_EQ(one.program, other.program);
  EXPECT_EQ(one.recorded, other.recorded);
  ASSERT_EQ(one.benchmarks.size(), other.benchmarks.size());
  for (std::size_t i = 0; i < one.benchmarks.size(); ++i) {
    EXPECT_TRUE(same(one.benchmarks[i], other.benchmarks[i])) << one.benchmarks[i].name;
  }
}

/// What another program does to the database.
void execute(const std::string& path, const char* statements) {
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, statements, nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_close(database), SQLITE_OK);
}

/// A history in a folder of its own.
class StoreTest : public testing::Test {
 protected:
  Store written() const {
    auto store = Store::open_to_write(path);
    EXPECT_TRUE(store) << store.error();
    return *std::move(store);
  }

  FreshFolder folder;
  std::string path = folder.path("history.sqlite");
};

TEST_F(StoreTest, gives_back_what_it_was_given) {
  const Record first = record_of("first");
  Record second = record_of("second");
  second.commit.position.reset();
  {
    Store store = written();
    EXPECT_EQ(store.add(first), true);
    EXPECT_EQ(store.add(second), true);
  }
  const auto records = Store::open_to_read(path)->records();
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 2U);
  expect_same((*records)[0], first);
  expect_same((*records)[1], second);
  folder.remove("history.sqlite");
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
  const auto added = Store::open_to_write(folder.path("h"))->add(record);
  RC_ASSERT(added.has_value());
  const auto records = Store::open_to_read(folder.path("h"))->records();
  RC_ASSERT(records.has_value());
  RC_ASSERT(records->size() == 1U);
  RC_ASSERT(records->front().commit == record.commit);
  RC_ASSERT(records->front().flags == record.flags);
  RC_ASSERT(same(records->front().benchmarks.front(), benchmark));
  folder.remove("h");
}

TEST_F(StoreTest, takes_the_very_same_record_once) {
  Store store = written();
  EXPECT_EQ(store.add(record_of("first")), true);
  EXPECT_EQ(store.add(record_of("first")), false);
  EXPECT_EQ(store.add(record_of("second")), true);
  Record measured_again = record_of("first");
  measured_again.benchmarks.front().wall_seconds.front() += 1e-12;
  EXPECT_EQ(store.add(measured_again), true);
  EXPECT_EQ(store.records()->size(), 3U);
  folder.remove("history.sqlite");
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
      change([](Record& record, Benchmark&) { record.program = "other"; }),
      change([](Record& record, Benchmark&) { record.compiler = "Clang 14"; }),
      change([](Record& record, Benchmark&) { record.flags = "-O3"; }),
      change([](Record& record, Benchmark&) { record.compiler += record.flags[0]; }),
      change([](Record&, Benchmark& benchmark) { benchmark.error = "could not, once"; }),
      change([](Record&, Benchmark& benchmark) { benchmark.label = "with x"; }),
      change([](Record&, Benchmark& benchmark) { benchmark.iterations[0] = 11; }),
      change([](Record&, Benchmark& benchmark) { benchmark.counters["third"] = {4}; }),
      change([](Record&, Benchmark& benchmark) { benchmark.counters["fourth"] = {3}; })};
  Store store = written();
  for (const bool is_new : {true, false}) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(store.add(all[i]), is_new) << i;
    }
  }
  folder.remove("history.sqlite");
}

TEST_F(StoreTest, learns_later_where_a_commit_stands) {
  Store store = written();
  Record unknown = record_of("first");
  unknown.commit = {.name = "first", .time = 5};
  Record known = record_of("first");
  known.benchmarks.front().wall_seconds.front() += 1;
  EXPECT_EQ(store.add(unknown), true);
  EXPECT_EQ(store.add(known), true);
  const auto records = store.records();
  EXPECT_EQ(records->front().commit, known.commit);
  folder.remove("history.sqlite");
}

TEST_F(StoreTest, says_that_a_file_is_not_there) {
  const auto store = Store::open_to_read(path);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error(), HasSubstr("cannot be opened"));
  EXPECT_THAT(store.error(), HasSubstr(path));
  EXPECT_THAT(Store::open_to_write("/proc/nowhere/h.sqlite").error(),
              HasSubstr("cannot be opened"));
}

TEST_F(StoreTest, refuses_what_is_no_history) {
  const std::string words(5000, 'x');
  folder.write("history.sqlite", words);
  EXPECT_THAT(Store::open_to_read(path).error(), HasSubstr("is no history of lastref perf"));
  EXPECT_THAT(Store::open_to_write(path).error(), HasSubstr("is no history of lastref perf"));
  EXPECT_EQ(folder.read("history.sqlite"), words) << "it is another program's";
  folder.remove("history.sqlite");
}

TEST_F(StoreTest, refuses_a_database_of_another_program) {
  execute(path, "CREATE TABLE theirs(x); PRAGMA user_version = 1");
  EXPECT_THAT(Store::open_to_read(path).error(), HasSubstr("is no history of lastref perf"));
  EXPECT_THAT(Store::open_to_write(path).error(), HasSubstr("is no history of lastref perf"));
  folder.remove("history.sqlite");
}

TEST_F(StoreTest, refuses_a_later_version_and_says_which) {
  EXPECT_EQ(written().add(record_of("first")), true);
  execute(path, "PRAGMA user_version = 9");
  const auto store = Store::open_to_write(path);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error(), HasSubstr("later version"));
  EXPECT_THAT(store.error(), HasSubstr("its version is 9, ours 1"));
  EXPECT_THAT(Store::open_to_read(path).error(), HasSubstr("later version"));
  folder.remove("history.sqlite");
}

TEST_F(StoreTest, says_that_it_may_only_be_read) {
  EXPECT_EQ(written().add(record_of("first")), true);
  auto store = Store::open_to_read(path);
  EXPECT_THAT(store->add(record_of("second")).error(), HasSubstr("may only be read"));
  EXPECT_EQ(store->records()->size(), 1U);
  folder.remove("history.sqlite");
}

TEST_F(StoreTest, says_that_no_space_is_left_and_keeps_what_it_has) {
  Store store = written();
  EXPECT_EQ(store.add(record_of("first")), true);
  ASSERT_TRUE(store.limit(1));
  Record large = record_of("second");
  large.benchmarks.front().label = std::string(1'000'000, 'x');
  EXPECT_THAT(store.add(large).error(), HasSubstr("no space is left"));
  const auto records = store.records();
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 1U);
  expect_same(records->front(), record_of("first"));
  folder.remove("history.sqlite");
}

TEST_F(StoreTest, says_that_a_file_is_damaged) {
  {
    Store store = written();
    Record large = record_of("first");
    large.benchmarks.front().label = std::string(20'000, 'x');
    EXPECT_EQ(store.add(large), true);
  }
  std::string bytes = folder.read("history.sqlite");
  std::fill(bytes.begin() + 4096, bytes.end(), '\xff');
  folder.write("history.sqlite", bytes);
  EXPECT_THAT(Store::open_to_read(path)->records().error(), HasSubstr("is damaged"));
  folder.remove("history.sqlite");
}

TEST_F(StoreTest, takes_no_time_that_is_not_a_number) {
  Store store = written();
  Record record = record_of("first");
  record.benchmarks.front().wall_seconds.front() = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(store.add(record).error(), HasSubstr("not a number"));
  EXPECT_TRUE(store.records()->empty());
  folder.remove("history.sqlite");
}

}  // namespace
}  // namespace lastref::perf
