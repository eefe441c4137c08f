#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <gtest/gtest.h>

#include "bench/perf/call_counter.hpp"
#include "bench/perf/counters.hpp"

namespace lastref::perf {
namespace {

const bench::Operation& operation_named(std::string_view name) {
  return *std::ranges::find(bench::operations(), name, &bench::Operation::name);
}

/// The rows of an operation in the checked-in table.
std::vector<CounterRow> expected_of(std::string_view name) {
  std::ifstream file(LASTREF_COUNTERS);
  const std::string page(std::istreambuf_iterator<char>(file), {});
  std::vector<CounterRow> rows = rows_in(page);
  std::erase_if(rows, [&](const CounterRow& row) { return row.operation != name; });
  return rows;
}

/// How an operation with a planted slow-down differs from the table.
std::vector<std::string> seen_of(const std::string& plant, std::string_view name) {
  const OperationCounts counts =
      counts_of(operation_named(name), {.program = LASTREF_COUNTED, .plant = plant});
  std::vector<std::string> all = counts.vague;
  std::ranges::copy(differences(expected_of(name), counts.rows), std::back_inserter(all));
  return all;
}

using Texts = std::vector<std::string>;

TEST(OperationCounts, are_those_of_the_table) {
  EXPECT_EQ(seen_of("", "hold"), Texts());
  EXPECT_EQ(seen_of("", "put"), Texts());
  EXPECT_EQ(seen_of("", "load"), Texts());
}

TEST(OperationCounts, show_one_more_system_call) {
  EXPECT_EQ(seen_of("extra_call", "release"),
            (Texts{"release, caller: Crossings: 1 expected, 2 found",
                   "release, caller: statx: 0 expected, 1 found"}));
  EXPECT_EQ(seen_of("extra_call", "put"), Texts()) << "it sends nothing";
}

TEST(OperationCounts, show_one_more_copy) {
  EXPECT_EQ(seen_of("extra_copy", "put"),
            (Texts{"put, caller: Bytes copied: 4096 expected, 8208 found",
                   "put, caller: Copies: 1 expected, 2 found"}));
  EXPECT_EQ(seen_of("extra_copy", "get"), Texts()) << "it writes nothing";
}

TEST(OperationCounts, show_one_more_message) {
  EXPECT_EQ(seen_of("extra_message", "hold"),
            (Texts{"hold, caller: Bytes moved: 72 expected, 84 found",
                   "hold, caller: Crossings: 2 expected, 3 found",
                   "hold, caller: sendmsg: 1 expected, 2 found",
                   "hold, tracker: Bytes moved: 72 expected, 84 found",
                   "hold, tracker: Crossings: 3 expected, 4 found",
                   "hold, tracker: Messages: 1 expected, 2 found",
                   "hold, tracker: recvmsg: 2 expected, 3 found"}));
  EXPECT_EQ(seen_of("extra_message", "release"), Texts()) << "it holds nothing";
}

/// The counts of many operations, divided by their number: one line for each counter that differs
/// from the count of one operation. Pages and bytes of names differ between operations.
std::vector<std::string> growing(std::string_view one, std::string_view many, std::uint64_t count) {
  std::vector<CounterRow> alone = expected_of(one);
  std::vector<CounterRow> together = expected_of(many);
  for (CounterRow& row : together) {
    row.operation = one;
  }
  for (auto* const rows : {&alone, &together}) {
    for (CounterRow& row : *rows) {
      row.figures.erase(std::string(name_of(Column::pages)));
      row.figures.erase("Bytes moved");
      for (auto& [name, figure] : row.figures) {
        figure *= rows == &alone ? count : 1;
      }
    }
  }
  return differences(alone, together);
}

// perf.counters compares the table; here it is only read.
TEST(OperationCounts, are_for_each_of_many_what_they_are_for_one) {
  EXPECT_EQ(growing("register_again", "register_100", 100), Texts());
  EXPECT_EQ(growing("put", "put_30", 30), Texts());
}

/// The number of system calls; their columns begin with a capital.
std::uint64_t cost_of(std::string_view operation, std::string_view process) {
  std::uint64_t all = 0;
  for (const CounterRow& row : expected_of(operation)) {
    for (const auto& [name, figure] : row.figures) {
      const bool is_call = std::islower(static_cast<unsigned char>(name.front())) != 0;
      all += row.process == process && is_call ? figure : 0;
    }
  }
  return all;
}

TEST(OperationCounts, of_a_hundred_tasks_are_at_most_those_of_fifty_times_two) {
  for (const std::string_view process : {"caller", "worker"}) {
    EXPECT_GT(cost_of("many_tasks", process), 0U);
    EXPECT_LE(cost_of("many_tasks", process), 50 * cost_of("two_tasks", process)) << process;
  }
}

TEST(OperationCounts, of_a_thousand_tasks_in_one_message_are_those_of_one_task) {
  EXPECT_EQ(cost_of("one_batch", "caller"), cost_of("one_task", "caller"));
  constexpr std::uint64_t to_grow = 2;  // brk(2), for results of its own size
  EXPECT_LE(cost_of("one_batch", "worker"), cost_of("one_task", "worker") + to_grow);
}

std::string why_not_counted(std::vector<std::string> command) {
  try {
    count_calls({.command = std::move(command), .environment = {}});
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "it was counted";
}

TEST(CallCounter, says_why_a_program_was_not_counted) {
  EXPECT_EQ(why_not_counted({LASTREF_COUNTED, "no-such-operation", "/"}),
            "what is counted ended with 2");
  EXPECT_EQ(why_not_counted({"/no-such-program"}), "what is counted ended with 127");
}

TEST(CallCounter, counts_nothing_where_nothing_is_marked) {
  EXPECT_EQ(count_calls({.command = {"/bin/true"}, .environment = {}}),
            std::vector<FiguresByRole>());
}

}  // namespace
}  // namespace lastref::perf
