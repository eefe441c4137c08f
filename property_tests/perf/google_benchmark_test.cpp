// Benchmarks are selected by name, and the JSON of a run survives any change.
#include "bench/perf/google_benchmark.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace lastref::perf {
namespace {

/// Few letters, so that names are often equal, and the letters that are special in globs.
rc::Gen<std::string> a_name() {
  return rc::gen::container<std::string>(rc::gen::elementOf(std::string(R"(ab/*?[]\!-)")));
}

RC_GTEST_PROP(Globs, of_a_name_match_that_name_alone, ()) {
  const std::string name = *a_name();
  const std::string other = *a_name();
  RC_ASSERT(match({glob_for(name)}, name));
  RC_ASSERT(match({glob_for(name)}, other) == (name == other));
}

TEST(Globs, are_of_whole_names_and_any_of_them_may_match) {
  EXPECT_TRUE(match({"put/*"}, "put/bytes:4096/real_time"));
  EXPECT_FALSE(match({"put"}, "put/4096"));
  EXPECT_TRUE(match({"put", "*_and_*/51?"}, "hold_and_release/512"));
  EXPECT_FALSE(match({"put", "*_and_*/51?"}, "hold_and_release/64"));
  EXPECT_TRUE(match({}, "put/4096"));
}

TEST(Globs, that_match_nothing_say_how_a_part_of_a_name_is_meant) {
  EXPECT_EQ(no_benchmark_matches({"put", "get"}),
            "no benchmark matches put or get; a pattern is of whole names: 'put/*' or '*put*' may "
            "do");
  EXPECT_EQ(no_benchmark_matches({}), "there is no benchmark");
}

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string run_of(const std::string& rows) {
  return R"({"context": {"host_name": "here", "num_cpus": 2, "load_avg": [1, 2]},
             "benchmarks": [)" +
         rows + "]}";
}

/// As Google Benchmark 1.7 prints it.
constexpr const char* three_rows = R"(
    {"name": "put/100/real_time", "run_name": "put/100/real_time", "run_type": "iteration",
     "repetitions": 2, "repetition_index": 0, "threads": 1, "iterations": 700,
     "real_time": 2.5e+00, "cpu_time": 1.5e+00, "time_unit": "us",
     "items_per_second": 4.0e+05, "worst": NaN, "label": "NaN \" -Infinity"},
    {"name": "put/100/real_time", "run_name": "put/100/real_time", "run_type": "iteration",
     "repetitions": 2, "repetition_index": 1, "threads": 1, "iterations": 800,
     "real_time": 3.5, "cpu_time": 1.25, "time_unit": "us",
     "items_per_second": 3.0e+05, "worst": -Infinity},
    {"name": "put/100/real_time_mean", "run_name": "put/100/real_time", "run_type": "aggregate",
     "aggregate_name": "mean", "iterations": 2, "real_time": 3, "cpu_time": 1, "time_unit": "us"})";

TEST(GoogleBenchmark, repetitions_are_put_together_and_aggregates_left_out) {
  const BenchmarkRun run = parse_run(run_of(three_rows));
  ASSERT_EQ(run.benchmarks.size(), 1U);
  const MeasuredBenchmark& put = run.benchmarks.front();
  EXPECT_EQ(put.name, "put/100/real_time");
  EXPECT_THAT(put.wall_seconds, ElementsAre(DoubleNear(2.5e-6, 1e-15), DoubleNear(3.5e-6, 1e-15)));
  EXPECT_THAT(put.processor_seconds,
              ElementsAre(DoubleNear(1.5e-6, 1e-15), DoubleNear(1.25e-6, 1e-15)));
  EXPECT_THAT(put.iterations, ElementsAre(700, 800));
  EXPECT_THAT(put.counters.at("items_per_second"), ElementsAre(4e5, 3e5));
  EXPECT_EQ(put.counters.size(), 1U);
  EXPECT_EQ(put.error, "");
}

TEST(GoogleBenchmark, one_of_which_aggregates_alone_are_kept_is_named) {
  const std::string aggregate = R"(, "run_type": "aggregate", "real_time": 3, "cpu_time": 1})";
  const BenchmarkRun run = parse_run(
      run_of(R"({"name": "slow_mean", "run_name": "slow", "aggregate_name": "mean")" + aggregate +
             "," + three_rows +
             R"(, {"name": "put_BigO", "run_name": "put", "aggregate_name": "BigO")" + aggregate +
             R"(, {"name": "put_RMS", "run_name": "put", "aggregate_name": "RMS")" + aggregate));
  ASSERT_EQ(run.benchmarks.size(), 2U);
  EXPECT_EQ(run.benchmarks[0].name, "slow");
  EXPECT_THAT(run.benchmarks[0].error, HasSubstr("only aggregates"));
  EXPECT_EQ(run.benchmarks[1].error, "");
}

TEST(GoogleBenchmark, words_in_strings_stay_what_they_are) {
  const BenchmarkRun run =
      parse_run(run_of(R"({"name": "NaN", "label": "NaN \" -Infinity", "real_time": 1,
                                        "cpu_time": 1, "time_unit": "ns"})"));
  EXPECT_EQ(run.benchmarks.front().name, "NaN");
  EXPECT_EQ(run.benchmarks.front().label, "NaN \" -Infinity");
}

/// Terminals obey ESC [, and many of them U+009B, which means the same.
TEST(GoogleBenchmark, nothing_that_a_terminal_obeys_is_in_words) {
  const BenchmarkRun run = parse_run(run_of(
      R"({"name": "a\u001b[2Jb", "iterations": 1, "real_time": 1, "cpu_time": 1,
          "label": "µ\r\u009b2J", "c\u007f": 2},
         {"name": "d", "error_occurred": true, "error_message": "no\nspace"})"));
  ASSERT_EQ(run.benchmarks.size(), 2U);
  EXPECT_EQ(run.benchmarks[0].name, "a?[2Jb");
  EXPECT_EQ(run.benchmarks[0].label, "µ??2J");
  EXPECT_THAT(run.benchmarks[0].counters.at("c?"), ElementsAre(2));
  EXPECT_EQ(run.benchmarks[1].error, "no?space");
}

TEST(GoogleBenchmark, the_context_is_words) {
  const BenchmarkRun run = parse_run(run_of(""));
  EXPECT_TRUE(run.benchmarks.empty());
  EXPECT_EQ(run.context.at("host_name"), "here");
  EXPECT_EQ(run.context.at("num_cpus"), "2");
  EXPECT_EQ(run.context.at("load_avg"), "[1,2]");
}

TEST(GoogleBenchmark, one_that_could_not_run_says_why) {
  const BenchmarkRun run =
      parse_run(run_of(R"({"name": "load", "run_name": "load", "run_type": "iteration",
      "error_occurred": true, "error_message": "no space", "real_time": 0, "cpu_time": 0})"));
  EXPECT_EQ(run.benchmarks.front().error, "no space");
  EXPECT_TRUE(run.benchmarks.front().wall_seconds.empty());
}

TEST(GoogleBenchmark, the_clock_that_counts_is_in_the_name) {
  EXPECT_TRUE(wall_time_counts("put/real_time"));
  EXPECT_TRUE(wall_time_counts("put/bytes:100/manual_time"));
  EXPECT_TRUE(wall_time_counts("put/process_time/real_time"));
  EXPECT_TRUE(wall_time_counts("put/real_time/threads:2"));
  EXPECT_FALSE(wall_time_counts("put/process_time"));
  EXPECT_FALSE(wall_time_counts("put"));
  EXPECT_FALSE(wall_time_counts("put/real_time_index/8"));
  EXPECT_FALSE(wall_time_counts("real_time/8"));
}

struct Bad {
  const char* what;
  std::string text;
  const char* why;

  friend void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.what; }
};

constexpr const char* not_json = "not the JSON of Google Benchmark: [json.exception.parse_error";
constexpr const char* not_a_run =
    "not the JSON of Google Benchmark: there is no list of benchmarks";
constexpr const char* not_a_benchmark = "row 1 of the benchmarks has no name";
constexpr const char* no_time = "a has no time";
constexpr const char* unknown_unit = "a unit of time that is not known, of a";

const Bad bad_texts[] = {
    {"nothing", "", not_json},
    {"cut_off", run_of(three_rows).substr(0, 300), not_json},
    {"a_bare_word", run_of("NaNa"), not_json},
    {"bytes_that_are_no_text", run_of("{\"name\": \"\xff\"}"), not_json},
    {"a_list", "[]", not_a_run},
    {"no_benchmarks", "{}", not_a_run},
    {"benchmarks_that_are_none", R"({"benchmarks": {}})", not_a_run},
    {"a_number_for_a_row", run_of("1"), not_a_benchmark},
    {"no_name", run_of(R"({"real_time": 1, "cpu_time": 1})"), not_a_benchmark},
    {"no_time", run_of(R"({"name": "a", "cpu_time": 1})"), no_time},
    {"a_time_below_zero", run_of(R"({"name": "a", "cpu_time": 1, "real_time": -1})"), no_time},
    {"a_time_that_is_none", run_of(R"({"name": "a", "cpu_time": 1, "real_time": NaN})"), no_time},
    {"a_time_in_words", run_of(R"({"name": "a", "cpu_time": "1", "real_time": 1})"), no_time},
    {"a_strange_unit",
     run_of(R"({"name": "a", "cpu_time": 1, "real_time": 1, "time_unit": "days"})"),
     unknown_unit},
    {"a_unit_that_is_no_word",
     run_of(R"({"name": "a", "cpu_time": 1, "real_time": 1, "time_unit": 3})"),
     unknown_unit},
    {"aggregates",
     run_of(R"({"name": "a_mean", "run_name": "a", "run_type": "aggregate"})"),
     "only aggregates"},
};

class UnreadableTest : public testing::TestWithParam<Bad> {};

TEST_P(UnreadableTest, is_refused_for_its_reason) {
  EXPECT_THAT([] { parse_run(GetParam().text); },
              ThrowsMessage<std::runtime_error>(HasSubstr(GetParam().why)));
}

INSTANTIATE_TEST_SUITE_P(Texts, UnreadableTest, testing::ValuesIn(bad_texts), [](const auto& row) {
  return std::string(row.param.what);
});

TEST(GoogleBenchmark, a_file_that_is_not_there_is_named) {
  EXPECT_THAT([] { read_run("no/such/file.json"); },
              ThrowsMessage<std::runtime_error>("no/such/file.json cannot be read"));
}

RC_GTEST_PROP(GoogleBenchmarkProperties,
              a_text_with_anything_changed_is_read_or_refused,
              (std::size_t place, std::vector<char> instead)) {
  std::string text = run_of(three_rows);
  place %= text.size();
  text.replace(
      place, std::min(instead.size(), text.size() - place), instead.data(), instead.size());
  try {
    for (const MeasuredBenchmark& benchmark : parse_run(text).benchmarks) {
      RC_ASSERT(!benchmark.name.empty());
      RC_ASSERT(benchmark.wall_seconds.size() == benchmark.processor_seconds.size());
      RC_ASSERT(benchmark.wall_seconds.size() == benchmark.iterations.size());
    }
  } catch (const std::runtime_error& error) {
    RC_ASSERT(!std::string(error.what()).empty());
  }
}

RC_GTEST_PROP(GoogleBenchmarkProperties, no_depth_is_too_much, ()) {
  const auto depth = *rc::gen::inRange<std::size_t>(0, 200'000);
  RC_ASSERT_THROWS_AS(parse_run(std::string(depth, '[')), std::runtime_error);
}

}  // namespace
}  // namespace lastref::perf
