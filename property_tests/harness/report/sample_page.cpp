// sample_page: writes the page of a report with a given number of cells to standard output, for
// page_test.py.
//
//   sample_page POINTS      each point has eight planned faults
#include <cstddef>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/report/report_page.hpp"

namespace lastref::harness {
namespace {

using CellOutcome = SweepCell::Outcome;

constexpr const char* faults[] = {"fail_once EACCES",
                                  "fail_once EMFILE",
                                  "fail_once ENOSPC",
                                  "kill_after",
                                  "kill_before",
                                  "send_sigint whole_tree",
                                  "send_sigterm",
                                  "shorten"};
constexpr const char* calls[] = {"openat", "mkdirat", "renameat2", "unlinkat", "connect", "fsync"};
constexpr std::size_t rows_tried = 9;  ///< Of ten

SweepCell cell_of(std::size_t row, std::size_t column) {
  SweepCell cell{.role = row % 3 == 0 ? "root" : fmt::format("child.{}", row % 7 + 1),
                 .call = calls[row % std::size(calls)],
                 .object = fmt::format("/tmp/job/{}/part-{:05}.bin", row % 5, row),
                 .k = row % 4 + 1,
                 .fault = faults[column],
                 .outcome = CellOutcome::clean};
  if (row % 10 >= rows_tried) {
    cell.outcome = CellOutcome::not_tried;
  } else if (row % 17 == 5 && column >= 5) {
    cell.outcome = CellOutcome::not_injected;
  } else if (row % 31 == 3 && column == 4) {
    cell.outcome = CellOutcome::finding;
    cell.fingerprints = {"11111111"};
  } else if (row % 47 == 8 && column < 2) {
    cell.outcome = CellOutcome::finding;
    cell.fingerprints = {"33333333"};
  }
  return cell;
}

Violation leftover() {
  return {.scenario = "backup",
          .claim = "no-leak: every name created is removed",
          .seen =
              "/tmp/job/0/part-00003.bin (file), created by root/openat\n"
              "after root/openat(/tmp/job/3/part-00003.bin)#4 kill_before, 5 of 5 times",
          .fingerprint = "11111111",
          .repeats = true,
          .replay =
              "lastref run --fault 'root/openat(/tmp/job/3/part-00003.bin)#4 kill_before' "
              "-- ./backup.sh /tmp/target"};
}

Violation lost_data() {
  return {.scenario = "backup",
          .claim = "refuted: with exit 0 the product is that of a clean run",
          .seen =
              "/tmp/target/<img src=x onerror=\"window.hacked=1\"> does not exist\n"
              "after child.2/openat(/tmp/job/3/part-00008.bin)#1 fail_once EACCES, 5 of 5 times",
          .fingerprint = "33333333",
          .repeats = true,
          .replay =
              "lastref run --fault 'child.2/openat(/tmp/job/3/part-00008.bin)#1 fail_once "
              "EACCES' -- ./backup.sh '</code><script>window.hacked=1</script>'"};
}

/// The calls of a run, with three processes.
nlohmann::ordered_json fields() {
  auto rows = nlohmann::ordered_json::array();
  const auto add = [&](const char* role, const std::string& text, const char* mark) {
    rows.push_back({{"role", role}, {"text", text}, {"mark", mark}});
  };
  for (int at = 1; at <= 40; ++at) {
    add("root", fmt::format("openat(/etc/backup.d/{:02})#1", at), "");
  }
  add("root", "clone()#1", "");
  add("child.1", "openat(/tmp/job/0/part-00003.bin)#1", "leftover: /tmp/job/0/part-00003.bin");
  add("root", "clone()#2", "");
  add("child.2", "connect(/run/backup.sock)#1", "");
  add("child.1", "write(/tmp/job/0/part-00003.bin)#1", "");
  add("child.1", "renameat2(/tmp/job/0/part-00003.bin)#1", "fault: kill_before");
  add("root", "exit_group()#1", "");
  add("root", "exit 1", "");
  nlohmann::ordered_json fields;
  fields["stories"][0]["story"] = "backup";
  fields["stories"][0]["timelines"]["11111111"] = std::move(rows);
  return fields;
}

Report sample(std::size_t points) {
  Report report{.verb = "run",
                .exit = Exit::violation,
                .verdict = "2 of 2 stories tried; 1 new finding",
                .after = "KNOWN          backup 33333333: issue 12\n",
                .cases = {{.suite = "run", .name = "backup"}, {.suite = "run", .name = "quiet"}},
                .seconds = 73.2,
                .source = "</title><script>window.hacked=1</script>"};
  add(report, leftover());
  ViolationGroup known{.scenario = "backup",
                       .claim = lost_data().claim,
                       .count = 1,
                       .first = {lost_data()},
                       .fingerprint = "33333333",
                       .note = "known: issue 12"};
  report.known.push_back(std::move(known));
  report.fields = std::make_shared<const nlohmann::ordered_json>(fields());
  SweepMap map{.program = "backup"};
  for (std::size_t row = 0; row < points; ++row) {
    for (std::size_t column = 0; column < std::size(faults); ++column) {
      map.cells.push_back(cell_of(row, column));
    }
  }
  map.cells.push_back({.role = "root",
                       .call = "openat",
                       .object = "/tmp/</script><script>window.hacked=1</script>\xff",
                       .fault = "kill_amid",
                       .outcome = CellOutcome::not_tried});
  report.maps = {std::move(map),
                 {.program = "quiet",
                  .cells = {{.role = "root",
                             .call = "openat",
                             .object = "/tmp/product",
                             .fault = "kill_after",
                             .outcome = CellOutcome::clean}}}};
  return report;
}

}  // namespace
}  // namespace lastref::harness

int main(int count, char** words) {
  std::cout << lastref::harness::to_html(
      lastref::harness::sample(count > 1 ? std::stoul(words[1]) : 1));
  return std::cout.flush() ? 0 : 1;
}
