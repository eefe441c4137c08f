// report_page_test: the text of a report's page: its findings, and the cells of its sweeps.
#include "harness/report/report_page.hpp"

#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "harness/report/heat_map.hpp"
#include "harness/report/lanes.hpp"

namespace lastref::harness {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using CellOutcome = SweepCell::Outcome;

SweepCell cell(std::string object, std::string fault, CellOutcome outcome) {
  return {.role = "root",
          .call = "openat",
          .object = std::move(object),
          .fault = std::move(fault),
          .outcome = outcome};
}

Report swept() {
  Report report{.verb = "run", .exit = Exit::violation, .verdict = "1 finding"};
  add(report,
      {.scenario = "job",
       .claim = "no-leak: x",
       .seen = "a\nb",
       .fingerprint = "11111111",
       .repeats = true,
       .replay = "lastref run --fault 'x' -- job"});
  SweepMap map{.program = "job"};
  map.cells = {cell("/a", "kill_after", CellOutcome::clean),
               cell("/b", "kill_after", CellOutcome::not_tried),
               cell("/a", "fail_once EIO", CellOutcome::finding),
               cell("/b", "shorten", CellOutcome::not_injected)};
  map.cells[2].fingerprints = {"11111111"};
  report.maps = {std::move(map)};
  return report;
}

/// What the script of the page gets.
json data_of(const std::string& page) {
  const std::string start = "id=\"data\">";
  const std::size_t at = page.find(start) + start.size();
  return json::parse(page.substr(at, page.find("</script>", at) - at));
}

TEST(ReportPage, has_a_row_for_each_point_and_a_cell_for_each_outcome) {
  const json story = data_of(to_html(swept()))["stories"][0];
  EXPECT_EQ(story["faults"], json({"fail_once EIO", "kill_after", "shorten"}));
  ASSERT_EQ(story["rows"].size(), 2U);
  EXPECT_EQ(story["rows"][0], json::parse(R"(["root", "openat", "/a", 1, [[1], "c", 0]])"));
  EXPECT_EQ(story["rows"][1], json::parse(R"(["root", "openat", "/b", 1, [0, "t", "i"]])"));
}

TEST(ReportPage, counts_cells_by_outcome) {
  const OutcomeCounts counts = counts_of(swept().maps.front());
  EXPECT_EQ(counts.cells, 4U);
  EXPECT_EQ(counts.clean, 1U);
  EXPECT_EQ(counts.findings, 1U);
  EXPECT_EQ(counts.not_injected, 1U);
  EXPECT_EQ(counts.not_tried, 1U);
  EXPECT_THAT(to_html(swept()),
              AllOf(HasSubstr("4 cells: 1 clean, 1 with findings, 1 not injected, 1 not tried"),
                    HasSubstr("<dt>cells</dt><dd>4</dd>"),
                    HasSubstr("<dt>tried</dt><dd>3</dd>"),
                    HasSubstr("<dt>finding</dt><dd>1</dd>")));
}

TEST(ReportPage, shows_a_finding_with_the_command_that_repeats_it) {
  EXPECT_THAT(to_html(swept()),
              AllOf(HasSubstr("<article id=\"finding-1\">"),
                    HasSubstr("<h3>no-leak: x</h3>"),
                    HasSubstr("<p class=\"seen\">a</p><p class=\"quiet\">b</p>"),
                    HasSubstr("<code>11111111</code>"),
                    HasSubstr("<code>lastref run --fault &#39;x&#39; -- job</code>")));
}

TEST(ReportPage, numbers_known_findings_after_the_new_ones) {
  Report report = swept();
  report.known = std::exchange(report.groups, {});
  report.known.front().note = "known: issue 12";
  add(report, {.scenario = "other", .claim = "no-hang: y", .seen = "", .fingerprint = "11111111"});
  const std::string page = to_html(report);
  EXPECT_THAT(page, HasSubstr("<article id=\"finding-2\"><span class=\"tile known\">2</span>"));
  EXPECT_THAT(page, HasSubstr("known: issue 12"));
  const json data = data_of(page);
  EXPECT_EQ(data["stories"][0]["rows"][0][4][0], json({2})) << "that of the same program";
  EXPECT_EQ(data["findings"][0]["known"], false);
  EXPECT_EQ(data["findings"][1]["known"], true);
}

TEST(ReportPage, lists_the_first_of_many_examples_with_one_command) {
  Report report;
  for (int at = 0; at < 50; ++at) {
    add(report, {.scenario = "a", .claim = "no-leak: x", .seen = "/name", .replay = "again"});
  }
  const std::string page = to_html(report);
  EXPECT_THAT(page, HasSubstr("and 30 more"));
  const std::size_t first = page.find("<code>again</code>");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(page.find("<code>again</code>", first + 1), std::string::npos);
}

TEST(ReportPage, of_a_clean_run_has_neither_findings_nor_cells) {
  Report report{.verb = "run", .verdict = "clean", .after = "1 process"};
  report.cases = {{.suite = "run", .name = "true"}};
  EXPECT_THAT(to_html(report),
              AllOf(HasSubstr("<h1>true</h1>"),
                    HasSubstr("1 process"),
                    Not(HasSubstr("<article")),
                    Not(HasSubstr("<script"))));
}

TEST(ReportPage, of_a_gate_counts_its_scenarios_and_shows_its_tables) {
  Report report{.verb = "gate", .verdict = "clean", .after = "  scenario  sites"};
  report.cases = {{.suite = "family", .name = "one"},
                  {.suite = "family", .name = "two"},
                  {.suite = "gate", .name = "complete"}};
  report.fields = std::make_shared<const nlohmann::ordered_json>(
      nlohmann::ordered_json{{"scenarios", 2}, {"runs", 17}});
  EXPECT_THAT(to_html(report),
              AllOf(HasSubstr("<dt>scenarios</dt><dd>2</dd>"),
                    HasSubstr("<dt>runs</dt><dd>17</dd>"),
                    HasSubstr("<details open>"),
                    HasSubstr("Clean</strong></p>"),
                    Not(HasSubstr("stories"))));
}

TEST(ReportPage, names_the_programs_that_have_no_verdict) {
  Report report;
  report.cases = {{.suite = "run", .name = "a", .error = "cannot be run"},
                  {.suite = "run", .name = "b"}};
  EXPECT_THAT(to_html(report), HasSubstr("<strong>a</strong> cannot be run"));
}

/// One call of the root, after another process has made `before` calls.
nlohmann::ordered_json timeline(int before, const std::string& text, const std::string& mark) {
  auto rows = nlohmann::ordered_json::array();
  for (int at = 0; at < before; ++at) {
    rows.push_back({{"role", "child.1"}, {"text", "read()#1"}, {"mark", ""}});
  }
  rows.push_back({{"role", "root"}, {"text", text}, {"mark", mark}});
  return rows;
}

TEST(Lanes, are_one_for_each_process_and_have_a_row_for_each_call) {
  EXPECT_EQ(lanes_of(timeline(1, "mkdir(/a)#1", "fault: kill_before")),
            "<div class=\"lanes\" style=\"--lanes: 2\">"
            "<div class=\"lane\" style=\"grid-area: 1 / 1\">child.1</div>"
            "<div class=\"lane\" style=\"grid-area: 1 / 2\">root</div>"
            "<div class=\"\" style=\"grid-area: 2 / 1\"><code>read()#1</code></div>"
            "<div class=\"mark\" style=\"grid-area: 3 / 2\"><code>mkdir(/a)#1</code>"
            "<b>fault: kill_before</b></div></div>\n");
  EXPECT_EQ(lanes_of(timeline(0, "", "")).find("child"), std::string::npos);
  EXPECT_EQ(lanes_of(nlohmann::ordered_json::array()), "");
}

TEST(Lanes, count_calls_that_are_far_from_marks) {
  const std::string lanes = lanes_of(timeline(1000, "exit 0", ""));
  EXPECT_THAT(lanes, HasSubstr("and 983 other calls"));
  EXPECT_LT(lanes.size(), 3000U);
}

TEST(ReportPage, shows_the_calls_of_a_run_that_has_the_finding) {
  Report report = swept();
  nlohmann::ordered_json story = {{"story", "job"}};
  story["timelines"]["11111111"] = timeline(0, "unlink(/a)#1", "");
  report.fields = std::make_shared<const nlohmann::ordered_json>(story);
  EXPECT_THAT(to_html(report), HasSubstr("<code>unlink(/a)#1</code>"));
  nlohmann::ordered_json suite;
  suite["stories"][0] = story;
  report.fields = std::make_shared<const nlohmann::ordered_json>(suite);
  EXPECT_THAT(to_html(report), HasSubstr("<code>unlink(/a)#1</code>"));
}

/// Each text of a report that a program can choose is the name.
Report named(const std::string& name) {
  Report report{.verb = name, .verdict = name, .before = name, .after = name, .source = name};
  add(report,
      {.scenario = name,
       .claim = name,
       .seen = name + "\n" + name,
       .fingerprint = name,
       .replay = name,
       .last_crossings = {name},
       .timeline = name},
      name);
  report.groups.front().note = name;
  report.differences = {{.scenario = name, .replay = name, .seen = name}};
  report.cases = {{.suite = name, .name = name, .error = name + "."}};
  nlohmann::ordered_json fields;
  fields["timeline"] = timeline(1, name, name);
  fields["timelines"][name] = fields["timeline"];
  report.fields = std::make_shared<const nlohmann::ordered_json>(std::move(fields));
  report.maps = {{.program = name,
                  .cells = {{.role = name,
                             .call = name,
                             .object = name,
                             .fault = name,
                             .outcome = CellOutcome::finding,
                             .fingerprints = {name}}}}};
  return report;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t number = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++number;
  }
  return number;
}

TEST(ReportPage, escapes_all_names) {
  const std::string page = to_html(named("</script><script>a(\"'&')</script>\xff"));
  EXPECT_EQ(count(page, "<script"), 2U) << "the data and our script";
  EXPECT_EQ(count(page, "</script"), 2U);
  EXPECT_EQ(count(page, "a(\"'"), 0U);
  EXPECT_EQ(data_of(page)["stories"][0]["rows"][0][2], "</script><script>a(\"'&')</script>\\xff");
}

RC_GTEST_PROP(ReportPage, has_the_same_elements_whatever_the_names_are, ()) {
  const std::string plain = to_html(named("a"));
  const std::string page = to_html(named("a" + *rc::gen::arbitrary<std::string>()));
  RC_ASSERT(count(page, "<") == count(plain, "<"));
  RC_ASSERT(data_of(page).size() == 2U);
}

}  // namespace
}  // namespace lastref::harness
