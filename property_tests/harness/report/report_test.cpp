// report_test: reports show what was counted, and machines can read them.
#include <algorithm>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "harness/explore/plans.hpp"
#include "harness/report/bytes_in_json.hpp"
#include "harness/report/campaign_results.hpp"
#include "harness/report/json.hpp"
#include "harness/report/junit.hpp"
#include "harness/report/sarif.hpp"
#include "harness/report/text.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref::harness {
namespace {

using pretend::expect_transcript;
using testing::HasSubstr;
using testing::Not;

Violation violation_of(const std::string& scenario) {
  return {.scenario = scenario,
          .claim = "no-leak: every name created is removed",
          .seen = "a<b>&\"c\" is still there",
          .run = 3,
          .repeats = true,
          .replay = "lastref replay " + scenario + " --fault 'root/now()#1 kill_before'",
          .last_crossings = {"root: now()#1", "tracker: poll()#4 (waited)"}};
}

CampaignResults report_of_two() {
  CampaignResults report;
  report.worlds = {{.name = "kernel", .available = true, .degraded = "no mount namespace"}};
  report.scenarios = {{.name = "family/one", .sentence = "It holds.", .rows = {"T1"}},
                      {.name = "other/two", .sentence = "It holds too.", .rows = {"T9"}}};
  for (ScenarioReport& scenario : report.scenarios) {
    scenario.sites = 1;
    scenario.matrix = {.total = 3, .executed = 2};
    scenario.runs = 4;
  }
  for (const FaultKind kind : {FaultKind::kill_before, FaultKind::kill_after}) {
    for (const char* role : {"root", "tracker", "client_a"}) {
      Fault fault;
      fault.site = {.role = role, .name = "now", .object = ""};
      fault.kind = kind;
      report.matrix.plan(fault);
      if (kind == FaultKind::kill_after || fault.site.role == "root") {
        report.matrix.execute(fault);
      }
    }
  }
  report.runs = 8;
  report.clean_runs = 4;
  report.matrix_runs = 4;
  report.points_declared = 42;
  report.points_reached = 41;
  report.never_reached = {"shut_down"};
  report.kills = 5;
  report.seconds = 2;
  report.seed = 9;
  return report;
}

CampaignResults with_violation() {
  CampaignResults report = report_of_two();
  report.groups = {{.scenario = "family/one",
                    .claim = "no-leak: every name created is removed",
                    .count = 12,
                    .first = {violation_of("family/one")}}};
  report.violations = 12;
  report.leftovers = 12;
  report.permitted_leftovers.add(WhyPermitted::no_ledger, NameKind::semaphore, 3);
  report.permitted_leftovers.add(WhyPermitted::scenario, NameKind::file, 2);
  return report;
}

/// The lines that the second text has, and the first does not.
std::string added_lines(const std::string& before, const std::string& after) {
  std::istringstream lines(after);
  std::string added;
  for (std::string line; std::getline(lines, line);) {
    added += ("\n" + before).find("\n" + line + "\n") == std::string::npos ? line + "\n" : "";
  }
  return added;
}

TEST(Fingerprint, is_that_of_the_shape_of_a_finding) {
  const auto of = [](std::string_view seen) { return fingerprint_of("a/b", "it holds", seen); };
  const std::string print = of("pid 17 holds /files/a17.bin, /files/b.bin");
  EXPECT_EQ(print.size(), 8U);
  EXPECT_EQ(print.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(of("pid 9 holds /files/b2.bin, /files/b.bin"), print);
  EXPECT_NE(of("pid 17 holds /files/a17.bin, /other/b.bin"), print);
  EXPECT_EQ(of("1, 2, 3 are held"), of("7, 8 are held"));
  EXPECT_NE(fingerprint_of("a/c", "it holds", "x"), fingerprint_of("a/b", "it holds", "x"));
  EXPECT_NE(fingerprint_of("a/b", "it is", "x"), fingerprint_of("a/b", "it holds", "x"));
}

TEST(Fingerprint, makes_groups_of_one_claim) {
  Report report;
  Violation violation = violation_of("family/one");
  for (const char* fingerprint : {"00000001", "00000002", "00000001"}) {
    violation.fingerprint = fingerprint;
    add(report, violation);
  }
  ASSERT_EQ(report.groups.size(), 2U);
  EXPECT_EQ(report.groups[0].count, 2U);
  EXPECT_EQ(report.groups[1].count, 1U);
  EXPECT_THAT(to_text(report), HasSubstr("  fingerprint   00000002\n"));
  EXPECT_THAT(to_json(report), HasSubstr("\"fingerprint\": \"00000002\""));
}

using nlohmann::json;

TEST(JsonReport, has_what_machines_look_for) {
  const json read = json::parse(to_json(report_of(with_violation())));
  EXPECT_EQ(read["exit"], 1);
  EXPECT_EQ(read["worlds"][0]["name"], "kernel");
  EXPECT_EQ(read["worlds"][0]["available"], true);
  EXPECT_EQ(read["worlds"][0]["degraded"], "no mount namespace");
  EXPECT_EQ(read["scenarios"], 2);
  EXPECT_EQ(read["runs"], 8);
  EXPECT_EQ(read["points_declared"], 42);
  EXPECT_EQ(read["points_reached"], 41);
  EXPECT_EQ(read["points_never_reached"], json({"shut_down"}));
  EXPECT_EQ(read["kills"], 5);
  EXPECT_EQ(read["leftovers"], 12);
  const auto& permitted_leftovers = read["permitted_leftovers"];
  EXPECT_EQ(permitted_leftovers["total"], 5);
  EXPECT_EQ(
      permitted_leftovers["by_reason"][std::string(name_of(WhyPermitted::no_ledger))]["semaphore"],
      3);
  EXPECT_EQ(read["seconds"], 2.0);
  EXPECT_EQ(read["runs_per_second"], 4.0);
  EXPECT_TRUE(read["bare_loop_per_second"].is_null());
  EXPECT_EQ(read["seed"], 9);
  ASSERT_EQ(read["violations"].size(), 1U);
  const json& violation = read["violations"][0];
  EXPECT_EQ(violation["scenario"], "family/one");
  EXPECT_EQ(violation["claim"], "no-leak: every name created is removed");
  EXPECT_EQ(violation["seen"], "a<b>&\"c\" is still there");
  EXPECT_EQ(violation["replay"], "lastref replay family/one --fault 'root/now()#1 kill_before'");
  EXPECT_EQ(violation["last_crossings"].size(), 2U);
  EXPECT_EQ(read["violations_total"], 12);
  EXPECT_EQ(read["violation_groups"][0]["count"], 12);
}

TEST(JsonReport, adds_up) {
  const json matrix = json::parse(to_json(report_of(report_of_two())))["matrix"];
  EXPECT_EQ(matrix["total"], 6);
  EXPECT_EQ(matrix["executed"], 4);
  for (const char* by : {"by_role", "by_fault"}) {
    for (const char* count : {"total", "executed"}) {
      std::size_t sum = 0;
      for (const json& each : matrix[by]) {
        sum += each[count].get<std::size_t>();
      }
      EXPECT_EQ(matrix[count], sum) << by << ' ' << count;
    }
  }
}

TEST(JsonReport, is_read_back_whatever_bytes_were_seen) {
  CampaignResults report = with_violation();
  report.groups[0].first[0].seen = "\xff\x01\xc3\xa9 \xed\xa0\x80";
  EXPECT_TRUE(json::accept(to_json(report_of(report))));
}

TEST(Sarif, has_a_rule_for_each_kind_of_claim_and_a_result_for_each_group) {
  Report report{.exit = Exit::violation, .verdict = "2 findings", .source = "lastref.toml"};
  add(report, {.scenario = "a", .claim = "no-leak: x", .seen = "one", .fingerprint = "1"});
  add(report, {.scenario = "a", .claim = "no-leak: x", .seen = "two", .fingerprint = "1"});
  add(report, {.scenario = "b", .claim = "no-leak: x", .seen = "three", .fingerprint = "2"});
  add(report, {.scenario = "b", .claim = "no-hang: y", .seen = "four", .replay = "lastref again"});
  const json run = json::parse(to_sarif(report))["runs"][0];
  ASSERT_EQ(run["tool"]["driver"]["rules"].size(), 2U);
  EXPECT_EQ(run["tool"]["driver"]["rules"][1]["id"], "no-hang");
  ASSERT_EQ(run["results"].size(), 3U);
  const json& first = run["results"][0];
  EXPECT_EQ(first["ruleId"], "no-leak");
  EXPECT_EQ(first["occurrenceCount"], 2);
  EXPECT_EQ(first["partialFingerprints"]["lastref/v1"], "1");
  const json& location = first["locations"][0];
  EXPECT_EQ(location["logicalLocations"][0]["fullyQualifiedName"], "a");
  EXPECT_EQ(location["physicalLocation"]["artifactLocation"]["uri"], "lastref.toml");
  EXPECT_THAT(std::string(run["results"][2]["message"]["text"]),
              HasSubstr("repeat: lastref again"));
  EXPECT_EQ(run["invocations"][0]["exitCode"], 1);
}

TEST(Sarif, is_json_whatever_bytes_were_seen) {
  Report report;
  add(report, {.scenario = "\xff\n", .claim = "\"", .seen = std::string("\0\x80", 2)});
  EXPECT_TRUE(json::accept(to_sarif(report)));
}

TEST(Sarif, points_at_the_line_of_the_story) {
  Report report{.exit = Exit::violation, .source = "my suites/\xc3\xa4:1.toml"};
  report.cases = {{.suite = "run", .name = "a", .scenario = "a", .line = 3},
                  {.suite = "run", .name = "b", .scenario = "b", .line = 17}};
  add(report, {.scenario = "b", .claim = "no-leak: x", .seen = "one"});
  add(report, {.scenario = "c", .claim = "no-leak: x", .seen = "two"});
  const auto place_of = [&](std::size_t result) {
    return json::parse(
        to_sarif(report))["runs"][0]["results"][result]["locations"][0]["physicalLocation"];
  };
  EXPECT_EQ(place_of(0)["region"]["startLine"], 17);
  EXPECT_EQ(place_of(0)["artifactLocation"]["uri"], "my%20suites/%C3%A4%3A1.toml");
  EXPECT_EQ(place_of(1)["region"]["startLine"], 1) << "a line is at least 1";
  report.source = "/srv/lastref.toml";
  EXPECT_EQ(place_of(0)["artifactLocation"]["uri"], "file:///srv/lastref.toml");
}

TEST(Sarif, has_a_result_for_a_plan_with_two_different_runs) {
  Report report{.exit = Exit::not_deterministic};
  report.differences = {{.scenario = "family/one", .replay = "again", .seen = "2 calls, then 3"}};
  const json run = json::parse(to_sarif(report))["runs"][0];
  ASSERT_EQ(run["results"].size(), 1U);
  EXPECT_EQ(run["results"][0]["ruleId"], "not-deterministic");
  EXPECT_EQ(run["tool"]["driver"]["rules"][0]["id"], "not-deterministic");
  EXPECT_THAT(to_annotations(report), HasSubstr("2 calls, then 3%0Arepeat: again"));
}

TEST(Annotations, are_one_line_for_each_group) {
  Report report;
  add(report,
      {.scenario = "a,b", .claim = "no-leak: x", .seen = "50 %\nleft", .replay = "lastref run"});
  EXPECT_EQ(to_annotations(report),
            "::error title=a%2Cb%3A no-leak::no-leak: x%0A50 %25%0Aleft%0Arepeat: lastref run\n");
  EXPECT_EQ(to_annotations(Report{}), "");
}

TEST(Annotations, are_at_the_line_of_the_story) {
  Report report{.source = "a,b.toml"};
  report.cases = {{.suite = "run", .name = "a", .scenario = "a", .line = 3}};
  add(report, {.scenario = "a", .claim = "no-leak: x", .seen = "y", .replay = "again"});
  EXPECT_EQ(to_annotations(report),
            "::error file=a%2Cb.toml,line=3,title=a%3A no-leak::"
            "no-leak: x%0Ay%0Arepeat: again\n");
}

TEST(Annotations, warn_of_what_has_no_verdict) {
  EXPECT_EQ(to_annotations({.verb = "gate", .exit = Exit::incomplete, .verdict = "3 of 4\nonly"}),
            "::warning title=lastref gate::3 of 4%0Aonly\n");
}

TEST(ExitOfReport, is_the_worst_that_is_certain) {
  CampaignResults report = report_of_two();
  EXPECT_EQ(exit_of(report), Exit::incomplete);
  report.differences = {{.scenario = "family/one", .replay = "", .seen = ""}};
  EXPECT_EQ(exit_of(report), Exit::not_deterministic);
  report.groups = with_violation().groups;
  EXPECT_EQ(exit_of(report), Exit::violation);
  report.differences.clear();
  report.groups[0].first[0].repeats = false;
  EXPECT_EQ(exit_of(report), Exit::not_deterministic);
}

TEST(ExitOfReport, does_not_miss_points_when_scenarios_were_left_out) {
  CampaignResults report = report_of_two();
  report.matrix = {};
  EXPECT_EQ(exit_of(report), Exit::incomplete);
  expect_transcript(verdict_of(report));
  report.all_scenarios = false;
  EXPECT_EQ(exit_of(report), Exit::clean);
}

/// Everything was executed, and one of two probes was seen.
CampaignResults with_probes(ProbeDemand demand) {
  CampaignResults report = report_of_two();
  report.matrix = {};
  report.never_reached.clear();
  report.probe_demand = demand;
  report.probes = {{.name = "link_made_again",
                    .sentence = "a lost connection was restored",
                    .runs = 3,
                    .scenario = "family/one",
                    .replay = "lastref replay family/one"},
                   {.name = "ledger_cut", .sentence = "a ledger gave its space back"}};
  return report;
}

TEST(ExitOfReport, is_incomplete_when_a_probe_that_is_required_was_never_seen) {
  CampaignResults report = with_probes(ProbeDemand::required);
  EXPECT_EQ(exit_of(report), Exit::incomplete);
  expect_transcript(verdict_of(report));
  report.probes[1].seen_earlier = true;
  EXPECT_EQ(exit_of(report), Exit::clean);
}

TEST(ExitOfReport, does_not_miss_probes_where_they_are_not_required) {
  EXPECT_EQ(exit_of(with_probes(ProbeDemand::listed)), Exit::clean);
  EXPECT_EQ(exit_of(with_probes(ProbeDemand::counted)), Exit::clean);
}

TEST(ExitOfReport, does_not_ask_for_probes_of_runs_that_were_not_made) {
  CampaignResults report = with_probes(ProbeDemand::required);
  report.left_out = {"a reason"};
  expect_transcript(verdict_of(report));
}

TEST(TextReport, names_probes_that_were_never_seen_where_somebody_asks_for_them) {
  const std::string counted = to_text(report_of(with_probes(ProbeDemand::counted)));
  EXPECT_THAT(counted, Not(HasSubstr("ledger_cut")));
  for (const ProbeDemand demand : {ProbeDemand::required, ProbeDemand::listed}) {
    const std::string text = to_text(report_of(with_probes(demand)));
    EXPECT_THAT(text, HasSubstr("ledger_cut"));
    expect_transcript(added_lines(counted, text));
  }
}

TEST(JsonReport, has_each_probe_with_its_count_and_where_it_was_seen_first) {
  const json read = json::parse(to_json(report_of(with_probes(ProbeDemand::required))));
  EXPECT_EQ(read["probes_declared"], 2);
  EXPECT_EQ(read["probes_seen"], 1);
  EXPECT_EQ(read["probes"][0]["name"], "link_made_again");
  EXPECT_EQ(read["probes"][0]["runs"], 3);
  EXPECT_EQ(read["probes"][0]["scenario"], "family/one");
  EXPECT_EQ(read["probes"][0]["replay"], "lastref replay family/one");
  EXPECT_EQ(read["probes"][1]["runs"], 0);
}

/// A reader of the XML that we write: names of elements in order, or "!" where it is not
/// well-formed.
std::vector<std::string> elements_of(std::string_view xml) {
  std::vector<std::string> elements;
  std::vector<std::string> open;
  while (!xml.empty()) {
    if (xml.front() != '<') {
      const std::size_t end = std::min(xml.find('<'), xml.size());
      const std::string_view text = xml.substr(0, end);
      if (text.find('>') != std::string_view::npos) {
        return {"!"};
      }
      xml.remove_prefix(end);
      continue;
    }
    const std::size_t end = xml.find('>');
    if (end == std::string_view::npos) {
      return {"!"};
    }
    const std::string_view tag = xml.substr(1, end - 1);
    xml.remove_prefix(end + 1);
    if (tag.find('<') != std::string_view::npos || std::ranges::count(tag, '"') % 2 != 0) {
      return {"!"};
    }
    if (tag.starts_with('?')) {
      continue;
    }
    if (!tag.starts_with('/')) {
      open.emplace_back(tag.substr(0, tag.find(' ')));
      elements.push_back(open.back());
    } else if (open.empty() || open.back() != tag.substr(1)) {
      return {"!"};
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? elements : std::vector<std::string>{"!"};
}

TEST(JunitReport, is_well_formed_with_a_suite_a_family_and_a_case_a_scenario) {
  const auto elements = elements_of(to_junit(report_of(with_violation())));
  EXPECT_EQ(std::ranges::count(elements, "testsuites"), 1);
  EXPECT_EQ(std::ranges::count(elements, "testsuite"), 3);
  EXPECT_EQ(std::ranges::count(elements, "testcase"), 3);
  EXPECT_EQ(std::ranges::count(elements, "failure"), 1);
  EXPECT_EQ(std::ranges::count(elements, "error"), 0);
}

TEST(JunitReport, tells_what_was_left_undone) {
  const std::string xml = to_junit(report_of(report_of_two()));
  EXPECT_THAT(xml, HasSubstr("errors=\"1\""));
  EXPECT_THAT(xml, HasSubstr("shut_down"));
  expect_transcript(xml);
}

TEST(JunitReport, names_a_probe_that_was_never_seen) {
  const std::string xml = to_junit(report_of(with_probes(ProbeDemand::required)));
  EXPECT_THAT(xml, HasSubstr("ledger_cut"));
  expect_transcript(added_lines(to_junit(report_of(report_of_two())), xml));
}

RC_GTEST_PROP(JunitProperties, any_bytes_stay_well_formed, ()) {
  CampaignResults report = with_violation();
  const auto bytes = *rc::gen::arbitrary<std::string>();
  report.groups[0].first[0].seen = bytes;
  report.groups[0].claim = bytes;
  report.scenarios[0].sentence = bytes;
  const bool well_formed = elements_of(to_junit(report_of(report))).size() > 1;
  RC_ASSERT(well_formed);
}

RC_GTEST_PROP(JsonProperties, any_bytes_can_be_read_back, ()) {
  const auto bytes = *rc::gen::container<std::string>(
      rc::gen::element('a', '0', '9', '\0', '\\', '\xc3', '\xa9', '\xe9', '\xff'));
  Report report{.fields = std::make_shared<const nlohmann::ordered_json>(
                    nlohmann::ordered_json{{"names", {bytes}}})};
  auto json = nlohmann::ordered_json::parse(to_json(report));
  read_text_as_bytes(json);
  RC_ASSERT(json["names"][0].get<std::string>() == bytes);
}

TEST(Json, has_text_as_it_is_and_other_bytes_as_digits) {
  EXPECT_EQ(text_of_bytes("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(text_of_bytes("caf\xe9"),
            std::string_view("caf\0"
                             "e9",
                             6));
}

TEST(Xml, keeps_what_xml_may_carry_and_nothing_else) {
  EXPECT_EQ(xml_of("a<b>&\"c\"\n\t"), "a&lt;b&gt;&amp;&quot;c&quot;\n\t");
  EXPECT_EQ(xml_of("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(xml_of(std::string_view("\0\x01\x1b", 3)), "???");
  EXPECT_EQ(xml_of("\xff\xc3"), "??");            // no UTF-8
  EXPECT_EQ(xml_of("\xc0\x80"), "??");            // overlong
  EXPECT_EQ(xml_of("\xed\xa0\x80"), "???");       // a surrogate
  EXPECT_EQ(xml_of("\xf4\x90\x80\x80"), "????");  // beyond the last character
}

TEST(TextReport, ends_each_failure_with_the_command) {
  const std::string text = to_text(report_of(with_violation()));
  EXPECT_THAT(text, HasSubstr("lastref replay family/one --fault 'root/now()#1 kill_before'\n"));
  expect_transcript(text);
}

TEST(TextReport, says_why_names_stayed_that_nobody_promised_to_remove) {
  CampaignResults report = report_of_two();
  const std::string none = to_text(report_of(report));
  report.permitted_leftovers = with_violation().permitted_leftovers;
  const std::string text = to_text(report_of(report));
  EXPECT_THAT(text, HasSubstr("3 semaphore"));
  EXPECT_THAT(text, HasSubstr("2 file"));
  expect_transcript(added_lines(none, text));
  EXPECT_EQ(added_lines(text, none), "");
}

TEST(Report, says_why_a_scenario_is_outside_of_the_matrix) {
  CampaignResults report = report_of_two();
  report.scenarios.front().outside_matrix = "it is about size";
  const std::string text = to_text(report_of(report));
  EXPECT_THAT(text, HasSubstr("family/one: it is about size\n"));
  expect_transcript(added_lines(to_text(report_of(report_of_two())), text));
  const json read = json::parse(to_json(report_of(report)));
  EXPECT_EQ(read["scenario_results"][0]["outside_matrix"], "it is about size");
  EXPECT_TRUE(read["scenario_results"][1]["outside_matrix"].is_null());
}

TEST(ProgressLines, are_rare_without_a_terminal) {
  std::string said;
  ProgressLine line(/*terminal=*/false, [&](std::string_view text) { said += text; });
  for (int i = 0; i < 1000; ++i) {
    line.show({.phase = CampaignPhase::matrix, .done = 1, .total = 9, .seconds = i * 0.01});
  }
  line.end();
  EXPECT_EQ(std::ranges::count(said, '\n'), 1);
  EXPECT_EQ(said.find('\r'), std::string::npos);
}

TEST(ProgressLines, move_in_one_line_of_a_terminal_and_are_wiped_away) {
  std::string said;
  ProgressLine line(/*terminal=*/true, [&](std::string_view text) { said += text; });
  for (int i = 0; i < 100; ++i) {
    line.show({.phase = CampaignPhase::matrix, .done = 1, .total = 9, .seconds = i * 0.01});
  }
  line.end();
  EXPECT_EQ(said.find('\n'), std::string::npos);
  EXPECT_GT(std::ranges::count(said, '\r'), 5);
  EXPECT_TRUE(said.ends_with("\r\x1b[K"));
}

TEST(Quoted, words_read_back_in_a_shell) {
  EXPECT_EQ(quoted("family/one"), "family/one");
  EXPECT_EQ(quoted("a b"), "'a b'");
  EXPECT_EQ(quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(quoted("$(x)"), "'$(x)'");
  EXPECT_EQ(quoted(""), "''");
}

TEST(ReplayCommand, says_all_that_decides_the_run) {
  Plan plan;
  plan.choices = {1, 0, 2};
  plan.seed = 7;
  Fault fault;
  fault.site = {.role = "root", .name = "unlink", .object = "it's"};
  plan.faults = {fault};
  EXPECT_EQ(replay_command("family/one", plan, "sim"),
            "lastref replay family/one --fault 'root/unlink(it'\\''s)#1 kill_before' "
            "--choices 1.0.2 --seed 7 --world sim");
}

TEST(Report, has_a_table_of_ambients) {
  CampaignResults report = report_of_two();
  report.ambients = {{.name = "deaf",
                      .sentence = "It hears nothing.",
                      .differs = "quiet: no message is expected",
                      .runs = {.total = 40, .executed = 40},
                      .violations = 2}};
  const std::string text = to_text(report_of(report));
  EXPECT_THAT(text, HasSubstr("deaf"));
  expect_transcript(added_lines(to_text(report_of(report_of_two())), text));
  const auto read = nlohmann::json::parse(to_json(report_of(report)));
  EXPECT_EQ(read["ambients"][0]["name"], "deaf");
  EXPECT_EQ(read["ambients"][0]["total"], 40);
  EXPECT_EQ(read["ambients"][0]["executed"], 40);
  EXPECT_EQ(read["ambients"][0]["violations"], 2);
}

}  // namespace
}  // namespace lastref::harness
