#include <algorithm>
#include <stdexcept>

#include <gtest/gtest.h>

#include "bench/perf/counters.hpp"

namespace lastref::perf {
namespace {

const std::vector<CounterRow> rows = {
    {"hold", "caller", {{"recvmsg", 1}, {"sendmsg", 1}, {"Crossings", 2}, {"Bytes moved", 72}}},
    {"hold", "tracker", {{"ppoll", 1}, {"recvmsg", 2}, {"Messages", 1}, {"Wake-ups", 1}}},
    {"put", "caller", {{"pwrite64", 1}, {"Copies", 1}, {"Bytes copied", 4096}, {"Pages", 3}}},
};

const std::map<std::string, OperationText> texts = {
    {"hold", {.what = "a reference is taken", .counts_pages = false}}};

std::string table() {
  return to_markdown(rows, texts);
}

/// The error about the first wrong row.
std::string complaint_about(const std::string& page) {
  try {
    rows_in(page);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(CounterTable, is_read_as_it_was_written) {
  EXPECT_EQ(rows_in("# A page\n\n" + table() + "\nand more\n"), rows);
}

TEST(CounterTable, says_what_an_operation_is_and_what_is_not_counted_of_it) {
  const std::string text = table();
  EXPECT_NE(text.find("| hold: a reference is taken | caller | recvmsg 1, sendmsg 1 | 2 |  | 72 | "
                      " |  |  |  |  | – |\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| hold | tracker |"), std::string::npos) << text;
}

TEST(CounterTable, takes_the_place_of_the_one_in_a_page) {
  const std::string other = to_markdown({rows[2]}, {});
  EXPECT_EQ(with_table("before\n" + table() + "\nbehind\n", other),
            "before\n" + other + "\nbehind\n");
}

TEST(CounterTable, is_put_behind_a_page_that_has_none) {
  EXPECT_EQ(with_table("before\n", table()), "before\n" + table());
}

TEST(CounterTable, is_missed) {
  EXPECT_EQ(complaint_about("| A | B |\n"), "no table of counters");
}

TEST(CounterTable, names_the_line_that_is_no_row) {
  EXPECT_EQ(complaint_about(table() + "| put | caller |\n"), "line 6 is no row: it has 2 columns");
  EXPECT_EQ(complaint_about(table() + "| put | caller | write x |  |  |  |  |  |  |  |  |  |\n"),
            "line 6 is no row: 'x' is no number");
  EXPECT_EQ(complaint_about(table() + "| put | caller | write |  |  |  |  |  |  |  |  |  |\n"),
            "line 6 is no row: 'write' is no call and its number");
  const std::string other = "| hold | caller | write 1 |  |  |  |  |  |  |  |  |  |\n";
  EXPECT_EQ(complaint_about(table() + other), "line 6 is no row: hold of caller has one already");
}

TEST(CounterDifferences, are_none_between_a_table_and_itself) {
  EXPECT_EQ(differences(rows, rows), std::vector<std::string>());
}

TEST(CounterDifferences, say_what_was_expected_and_what_was_found) {
  std::vector<CounterRow> now = rows;
  now[1].figures["recvmsg"] = 3;
  now[2].figures.erase("Copies");
  now[2].figures["fstat"] = 1;
  EXPECT_EQ(differences(rows, now),
            (std::vector<std::string>{"hold, tracker: recvmsg: 2 expected, 3 found",
                                      "put, caller: Copies: 1 expected, 0 found",
                                      "put, caller: fstat: 0 expected, 1 found"}));
}

TEST(CounterDifferences, are_told_of_processes_that_come_or_go) {
  const std::vector<CounterRow> now = {rows[0], rows[2], {"put", "tracker", {{"ppoll", 1}}}};
  EXPECT_EQ(differences(rows, now),
            (std::vector<std::string>{"hold, tracker: Messages: 1 expected, 0 found",
                                      "hold, tracker: Wake-ups: 1 expected, 0 found",
                                      "hold, tracker: ppoll: 1 expected, 0 found",
                                      "hold, tracker: recvmsg: 2 expected, 0 found",
                                      "put, tracker: ppoll: 0 expected, 1 found"}));
}

}  // namespace
}  // namespace lastref::perf
