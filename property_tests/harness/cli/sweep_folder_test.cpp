// sweep_folder_test: what a sweep leaves in its folder, what another sweep reads there, which
// folders it does not touch, and how folders are merged.
#include "harness/cli/sweep_folder.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/cli/sweep_merge.hpp"
#include "harness/cli/sweep_report.hpp"
#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref::harness {
namespace {

using std::chrono::day;
using std::chrono::month;
using std::chrono::year;
using std::chrono::year_month_day;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string failing = "root/openat(/tmp/a)#1 fail_once ENOSPC";
const std::string killing = "root/openat(/tmp/a)#1 kill_after";
const std::string last = "child.1/unlink(/tmp/a)#1 kill_before";

const CellOutcome clean = {.seconds = 0.5};
const CellOutcome leaking = {
    .shown = {{.claim = "no-leak: names", .seen = "/tmp/a (file)\nand \"more\""}},
    .command = "lastref run --fault",
    .seconds = 0.25};
const CellOutcome not_injected = {.result = CellResult::not_injected};
const CellOutcome refused = {.result = CellResult::refused, .why = "no such call"};

SweptProgram program(std::string name) {
  return {.name = std::move(name),
          .run = {"run", "--", "./backup.sh", "a b"},
          .cells = {failing, killing, last}};
}

class SweepFolderTest : public testing::Test {
 public:
  SweepFolderTest() = default;
  SweepFolderTest(const SweepFolderTest&) = delete;
  SweepFolderTest& operator=(const SweepFolderTest&) = delete;
  ~SweepFolderTest() override {
    for (const std::string& name : folder_.names()) {
      folder_.remove(name.substr(0, name.find('/')));
    }
  }

 protected:
  std::string path(const std::string& name = "out") const { return folder_.path(name); }

  static Result<SweepFolder> open(const std::string& output, const std::string& resume = "") {
    RunVerbOptions options;
    options.output = output;
    options.resume = resume;
    return SweepFolder::open(options);
  }

  /// A folder with these outcomes of its first program.
  void record(const std::string& name,
              const std::vector<std::pair<std::size_t, CellOutcome>>& outcomes,
              const SweepSession& session = {}) {
    auto made = open(path(name));
    ASSERT_TRUE(made) << made.error().subject;
    SweptProgram first = program("backup");
    SweptProgram second = program("restore");
    second.is_planned = false;
    second.cells.clear();
    ASSERT_TRUE(made->begin({&first, &second}, session));
    for (const auto& [cell, outcome] : outcomes) {
      ASSERT_TRUE(made->add(0, cell, outcome, "what it printed\n"));
    }
  }

  static std::string why_not(const Result<SweepFolder>& opened) {
    return opened ? "it was opened" : opened.error().subject;
  }

  pretend::FreshFolder folder_;
};

TEST_F(SweepFolderTest, has_each_fault_before_the_first_one_is_tried) {
  record("out", {});
  const auto read = read_sweep(path());
  ASSERT_TRUE(read) << read.error().subject;
  ASSERT_THAT(read->programs, SizeIs(2));
  EXPECT_EQ(read->programs[0].name, "backup");
  EXPECT_THAT(read->programs[0].run, ElementsAre("run", "--", "./backup.sh", "a b"));
  EXPECT_THAT(read->programs[0].cells, ElementsAre(failing, killing, last));
  EXPECT_THAT(read->programs[0].outcomes, IsEmpty());
  EXPECT_FALSE(read->programs[1].is_planned);
}

TEST_F(SweepFolderTest, has_faults_of_whole_runs_too) {
  SweptProgram starved = program("backup");
  starved.cells.emplace_back("limit nofile=4");
  auto made = open(path());
  ASSERT_TRUE(made) << made.error().subject;
  ASSERT_TRUE(made->begin({&starved}, {}));
  ASSERT_TRUE(made->add(0, 3, leaking, ""));
  const auto read = read_sweep(path());
  ASSERT_TRUE(read) << read.error().subject;
  EXPECT_EQ(read->programs[0].cells.back(), "limit nofile=4");
  const Report report = report_of(read->programs[0], 1);
  ASSERT_THAT(report.groups, SizeIs(1));
  EXPECT_THAT(report.groups[0].first.at(0).seen, HasSubstr("after limit nofile=4"));
  EXPECT_EQ(report.maps.at(0).cells.at(3).object, "nofile=4");
}

TEST_F(SweepFolderTest, has_what_each_fault_costs) {
  record("out", {{0, clean}, {1, leaking}});
  const auto read = read_sweep(path());
  ASSERT_TRUE(read) << read.error().subject;
  SweptProgram now = program("backup");
  std::ranges::reverse(now.cells);
  EXPECT_THAT(costs_of(now, *read), ElementsAre(0.375, 0.25, 0.5));
  now.name = "another";
  EXPECT_THAT(costs_of(now, *read), ElementsAre(1, 1, 1));
}

TEST(SweepGroups, of_hangs_are_by_the_place_of_the_fault) {
  const auto hang = [](const std::string& seen) {
    return CellOutcome{.shown = {{.claim = "no-hang: every run ends", .seen = seen}}};
  };
  SweptProgram swept = program("pool");
  swept.outcomes = {{0, hang("root in futex")}, {1, hang("child.1 in read")}, {2, hang("root")}};
  const std::vector<SweepGroup> groups = groups_of(swept);
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_THAT(groups[0].cells, ElementsAre(0, 1));
  EXPECT_EQ(groups[0].shown.seen, "root in futex");
  EXPECT_THAT(groups[1].cells, ElementsAre(2));
}

TEST_F(SweepFolderTest, returns_what_was_recorded) {
  const SweepSession session = {
      .shard = "2/4",
      .source = "lastref.toml",
      .known = {{.story = "backup",
                 .fingerprint = "1a2b",
                 .reason = "issue 12",
                 .until = year(2027) / month(1) / day(31)},
                {.story = "backup", .fingerprint = "3c", .reason = "why", .until = {}}}};
  record("out", {{1, leaking}, {0, clean}, {2, refused}}, session);
  auto again = open("", path());
  ASSERT_TRUE(again) << again.error().subject;
  SweptProgram first = program("backup");
  SweptProgram second = {.name = "restore", .run = first.run, .is_planned = false};
  const Confirmation confirmation = {
      .cell = 1, .shown = leaking.shown.front(), .runs = 5, .times = 4};
  first.line = 3;
  const Status begun = again->begin({&first, &second}, session);
  ASSERT_TRUE(begun) << begun.error().subject;
  ASSERT_TRUE(again->add(0, confirmation));
  EXPECT_EQ(first.outcomes.at(0), clean);
  EXPECT_EQ(first.outcomes.at(1), leaking);
  EXPECT_EQ(first.outcomes.at(2), refused);
  const auto read = read_sweep(path());
  ASSERT_TRUE(read) << read.error().subject;
  EXPECT_THAT(read->programs[0].confirmations, ElementsAre(confirmation));
  EXPECT_EQ(read->session.shard, "2/4");
  EXPECT_EQ(read->session.source, "lastref.toml");
  ASSERT_THAT(read->session.known, SizeIs(2));
  EXPECT_EQ(read->session.known[0].until, session.known[0].until);
  EXPECT_EQ(read->session.known[1].reason, "why");
  EXPECT_EQ(read->programs[0].line, 3U);
}

TEST_F(SweepFolderTest, has_the_output_of_runs_with_findings_only) {
  record("out", {{0, clean}, {1, leaking}});
  EXPECT_THAT(folder_.names(), Not(testing::Contains("out/logs/1-1.log")));
  EXPECT_EQ(folder_.read("out/logs/1-2.log"), "what it printed\n");
}

TEST_F(SweepFolderTest, is_read_without_the_line_that_a_kill_has_cut) {
  record("out", {{0, clean}, {1, leaking}});
  const std::string whole = folder_.read("out/outcomes");
  const std::size_t start = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t size = start; size < whole.size(); ++size) {
    folder_.write("out/outcomes", whole.substr(0, size));
    const auto read = read_sweep(path());
    ASSERT_TRUE(read) << read.error().subject;
    EXPECT_THAT(read->programs[0].outcomes, SizeIs(1)) << size;
  }
  // The sweep that goes on begins a line of its own.
  auto again = open("", path());
  SweptProgram first = program("backup");
  SweptProgram second = {.name = "restore", .run = first.run, .is_planned = false};
  ASSERT_TRUE(again && again->begin({&first, &second}, {}));
  ASSERT_TRUE(again->add(0, 2, not_injected, ""));
  const auto read = read_sweep(path());
  ASSERT_TRUE(read) << read.error().subject;
  EXPECT_THAT(read->programs[0].outcomes, SizeIs(2));
  EXPECT_EQ(read->programs[0].outcomes.at(2), not_injected);
}

TEST(AppendedFileTest, reports_that_there_is_no_space) {
  auto full = AppendedFile::open("/dev/full");
  ASSERT_TRUE(full) << describe(full.error());
  EXPECT_TRUE(failed_with(full->append("line"), std::errc::no_space_on_device));
}

TEST_F(SweepFolderTest, belongs_to_one_sweep_at_a_time) {
  const auto first = open(path());
  ASSERT_TRUE(first) << first.error().subject;
  const auto second = open(path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, std::errc::device_or_resource_busy);
  EXPECT_EQ(second.error().subject, path() + ": another process uses this folder");
}

TEST_F(SweepFolderTest, can_be_used_after_a_death_at_any_time_before_the_list) {
  folder_.make_folder("out");
  folder_.write("out/outcomes", "");
  folder_.write("out/list.new", "{\"lastref sw");
  EXPECT_EQ(why_not(open(path())), "it was opened");
  EXPECT_EQ(why_not(open("", path())), "it was opened");
}

TEST_F(SweepFolderTest, of_something_else_stays_as_it_is) {
  folder_.make_folder("out");
  folder_.write("out/outcomes", "dear diary");
  EXPECT_THAT(why_not(open(path())), AllOf(HasSubstr(path()), HasSubstr("outcomes")));
  EXPECT_THAT(why_not(open("", path())), HasSubstr("not the folder of a sweep"));
  folder_.write("out/list", "milk\n");
  EXPECT_THAT(why_not(open("", path())), HasSubstr(path("out/list:1: ")));
  EXPECT_EQ(folder_.read("out/outcomes"), "dear diary");
  EXPECT_THAT(folder_.names(), ElementsAre("out", "out/list", "out/outcomes"));
  EXPECT_THAT(why_not(open("", path("nothing"))), HasSubstr("No such file"));
  EXPECT_THAT(why_not(open(path("out/list"))), HasSubstr(path("out/list")));
}

TEST_F(SweepFolderTest, of_a_sweep_is_not_begun_again) {
  record("out", {});
  EXPECT_THAT(why_not(open(path())), HasSubstr("--resume " + path()));
}

TEST_F(SweepFolderTest, of_another_sweep_is_not_continued) {
  record("out", {{0, clean}}, {.shard = "1/2"});
  SweptProgram first = program("backup");
  SweptProgram second = {.name = "restore", .run = first.run, .is_planned = false};
  first.cells[1] = last;
  const Status other_list = open("", path())->begin({&first, &second}, {.shard = "1/2"});
  ASSERT_FALSE(other_list);
  EXPECT_THAT(other_list.error().subject,
              AllOf(HasSubstr(path("out/list:4: ")), HasSubstr(killing), HasSubstr(last)));
  first.cells[1] = killing;
  const Status fewer = open("", path())->begin({&first}, {.shard = "1/2"});
  ASSERT_FALSE(fewer);
  EXPECT_THAT(fewer.error().subject, HasSubstr("this sweep has no more lines"));
  const Status other_shard = open("", path())->begin({&first, &second}, {.shard = "2/2"});
  ASSERT_FALSE(other_shard);
  EXPECT_THAT(other_shard.error().subject, HasSubstr("--shard 1/2"));
}

TEST_F(SweepFolderTest, with_wrong_contents_is_refused_with_file_and_line) {
  record("whole", {{0, clean}});
  const std::string list = folder_.read("whole/list");
  const std::string outcomes = folder_.read("whole/outcomes");
  struct Row {
    std::string list;
    std::string outcomes;
  };
  const std::string deep(1 << 16, '[');
  const Row rows[] = {
      {"", ""},
      {"\n", ""},
      {"{\"lastref sweep\":2}\n", ""},
      {list.substr(0, list.size() - 1), ""},
      {list + std::string("\xff\0\x80\n", 4), ""},
      {list + deep + '\n', ""},
      {list + std::string((std::size_t{1} << 24U) + 1, ' ') + '\n', ""},
      {"{\"lastref sweep\":1}\n\"" + failing + "\"\n", ""},
      {list + "\"root/openat explode\"\n", ""},
      {list + "17\n", ""},
      {list, "\n"},
      {list, outcomes + std::string("\0\n", 2)},
      {list, outcomes + "[]\n"},
      {list, outcomes + R"({"story":0,"cell":1,"result":"tried"})" + '\n'},
      {list, outcomes + R"({"story":3,"cell":1,"result":"tried"})" + '\n'},
      {list, outcomes + R"({"story":1,"cell":4,"result":"tried"})" + '\n'},
      {list, outcomes + R"({"story":1,"cell":-1,"result":"tried"})" + '\n'},
      {list, outcomes + R"({"story":1,"cell":1e300,"result":"tried"})" + '\n'},
      {list, outcomes + R"({"story":1,"cell":1,"result":"tried"})" + '\n'},
      {list, outcomes + R"({"story":1,"cell":2,"result":"tired"})" + '\n'},
      {list, outcomes + R"({"story":1,"cell":2,"times":-1,"runs":5})" + '\n'},
      {list, R"({"shard":"5/4"})" + std::string("\n")},
      {list, R"({"shard":"","known":[{"story":"a"}]})" + std::string("\n")},
      {list,
       R"({"shard":"","known":[{"story":"a","fingerprint":"b","until":[2026,2,30]}]})" +
           std::string("\n")},
  };
  folder_.make_folder("out");
  std::string told;
  for (const Row& row : rows) {
    folder_.write("out/list", row.list);
    folder_.write("out/outcomes", row.outcomes);
    const auto read = read_sweep(path());
    ASSERT_FALSE(read) << row.list << row.outcomes;
    told += read.error().subject + '\n';
  }
  folder_.remove("out/outcomes");
  folder_.make_folder("out/outcomes");
  folder_.write("out/list", list);
  told += read_sweep(path()).error().subject + '\n';
  folder_.remove("out/list");
  told += read_sweep(path()).error().subject + '\n';
  pretend::expect_transcript(pretend::with_replacements(told, {{folder_.path(), "FOLDER"}}));
}

/// Merges folders of the test.
class MergeTest : public SweepFolderTest {
 protected:
  Result<Report> merge(const std::vector<std::string>& names) const {
    std::vector<std::string> paths;
    for (const std::string& name : names) {
      paths.push_back(path(name));
    }
    return merge_sweeps(paths, year(2026) / month(11) / day(29));
  }

  Report must_merge(const std::vector<std::string>& names) const {
    auto report = merge(names);
    EXPECT_TRUE(report) << report.error().subject;
    return std::move(report).value_or(Report{});
  }

  /// A folder of one program.
  void record_one(const std::string& name,
                  const std::vector<std::pair<std::size_t, CellOutcome>>& outcomes,
                  const SweepSession& session = {},
                  SweptProgram of = program("backup")) {
    auto made = open(path(name));
    ASSERT_TRUE(made) << made.error().subject;
    ASSERT_TRUE(made->begin({&of}, session));
    for (const auto& [cell, outcome] : outcomes) {
      ASSERT_TRUE(made->add(0, cell, outcome, ""));
    }
  }
};

TEST_F(MergeTest, is_clean_if_all_cells_are) {
  record_one("one", {{0, clean}, {2, clean}}, {.shard = "1/2"});
  record_one("two", {{1, clean}}, {.shard = "2/2"});
  const Report report = must_merge({"one", "two"});
  EXPECT_EQ(report.exit, Exit::clean) << report.after;
  EXPECT_EQ(report.verdict, "3 of 3 faults tried; 0 new findings");
}

TEST_F(MergeTest, has_one_group_of_findings_of_several_folders) {
  record_one("one", {{0, clean}, {2, leaking}});
  record_one("two", {{1, leaking}});
  const Report report = must_merge({"two", "one"});
  EXPECT_EQ(report.exit, Exit::violation);
  ASSERT_THAT(report.groups, SizeIs(1));
  ASSERT_THAT(report.groups[0].first, SizeIs(1));
  EXPECT_THAT(report.groups[0].first[0].seen,
              AllOf(HasSubstr("after " + killing), HasSubstr("also after " + last)));
}

TEST_F(MergeTest, is_incomplete_if_something_is_missing) {
  record_one("one", {{0, clean}, {2, clean}}, {.shard = "1/3"});
  record_one("three", {{1, not_injected}}, {.shard = "3/3"});
  const Report missing = must_merge({"one"});
  EXPECT_EQ(missing.exit, Exit::incomplete);
  EXPECT_THAT(missing.after, HasSubstr("shard 2/3\nMISSING        shard 3/3\n"));
  EXPECT_THAT(missing.verdict, HasSubstr("2 of 3 faults tried"));
  const Report whole = must_merge({"one", "three"});
  EXPECT_EQ(whole.exit, Exit::incomplete);
  EXPECT_THAT(whole.after, HasSubstr("NOT INJECTED   " + killing));
  record("unplanned", {{0, clean}, {1, clean}, {2, clean}});
  EXPECT_EQ(must_merge({"unplanned"}).exit, Exit::incomplete);
}

TEST_F(MergeTest, reports_cells_that_several_folders_have) {
  record_one("one", {{0, clean}, {1, clean}, {2, clean}});
  record_one("two", {{0, clean}, {2, clean}});
  const Report report = must_merge({"one", "two"});
  EXPECT_THAT(report.after, HasSubstr("TRIED TWICE    2 faults in " + path("two")));
  EXPECT_EQ(report.exit, Exit::clean);
}

TEST_F(MergeTest, does_not_count_known_findings) {
  record_one("one", {{0, clean}, {1, leaking}, {2, clean}});
  const Report unknown = must_merge({"one"});
  ASSERT_THAT(unknown.groups, SizeIs(1));
  record_one("two",
             {},
             {.known = {{.story = "backup",
                         .fingerprint = unknown.groups[0].fingerprint,
                         .reason = "issue 12",
                         .until = {}}}});
  const Report known = must_merge({"one", "two"});
  EXPECT_EQ(known.exit, Exit::clean);
  EXPECT_THAT(known.after, HasSubstr("KNOWN          backup"));
}

TEST_F(MergeTest, refuses_folders_of_different_sweeps) {
  record_one("one", {});
  SweptProgram other = program("backup");
  other.cells.pop_back();
  record_one("two", {}, {}, other);
  const auto report = merge({"one", "two"});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, std::errc::invalid_argument);
  EXPECT_THAT(report.error().subject,
              AllOf(HasSubstr(path("two/list:5: it has no more lines")), HasSubstr(last)));
}

}  // namespace
}  // namespace lastref::harness
