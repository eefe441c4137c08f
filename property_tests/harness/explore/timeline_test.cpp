// Timeline: which rows of a run it has, and how it is written.
#include "harness/explore/timeline.hpp"

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "property_tests/support/transcript.hpp"

namespace lastref::harness {
namespace {

using pretend::expect_transcript;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// An actor of a run.
struct Actor {
  std::string role;
  std::uint16_t process = 0;
  std::uint16_t actor = 0;
};

const Actor root{.role = "root", .process = 0, .actor = 0};
const Actor one{.role = "worker_1", .process = 1, .actor = 1};
const Actor two{.role = "worker_2", .process = 2, .actor = 2};
const Actor thread_of_two{.role = "worker_2", .process = 2, .actor = 3};

/// A run, step by step.
class Story {
 public:
  Story& begin(const Actor& actor, Call call, const std::string& object) {
    Record& made = add(actor, RecordKind::begin, row_of(call).method);
    made.call = call;
    made.k = 1;
    made.object.assign(object);
    return *this;
  }
  Story& end(const Actor& actor, Call call, const std::string& object, int error = 0) {
    Record& made = add(actor, RecordKind::end, row_of(call).method);
    made.call = call;
    made.error = error;
    made.object.assign(object);
    return *this;
  }
  Story& call(const Actor& actor, Call call, const std::string& object, int error = 0) {
    return begin(actor, call, object).end(actor, call, object, error);
  }
  Story& fails(const Actor& actor, Call call, const std::string& object, int error) {
    fact(actor, fact::fired, "fail_once")
        .begin(actor, call, object)
        .end(actor, call, object, error);
    log_.records.back().injected = true;
    return *this;
  }
  Story& fact(const Actor& actor, std::string_view name, std::string_view text) {
    add(actor, RecordKind::fact, name).text.assign(text);
    return *this;
  }
  Story& operation(const Actor& actor, RecordKind kind, std::string_view name) {
    add(actor, kind, name);
    return *this;
  }
  Story& step(const Actor& actor, const std::string& name, const std::string& object) {
    RunStep& made = add_step(actor);
    made.name.assign(name);
    made.object.assign(object);
    made.writes = name != "load";
    return *this;
  }
  Story& switches(const Actor& from, const Actor& to) { return switches(from, from, to); }
  Story& switches(const Actor& from, const Actor& usual, const Actor& to) {
    RunStep& made = add_step(from);
    made.is_switch = true;
    made.to = to.actor;
    made.usual = usual.actor;
    made.to_role.assign(to.role);
    made.usual_role.assign(usual.role);
    return *this;
  }
  const RunLog& log() const { return log_; }

 private:
  Record& add(const Actor& actor, RecordKind kind, std::string_view name) {
    Record& made = log_.records.emplace_back();
    made.seq = static_cast<std::uint32_t>(log_.records.size() - 1);
    made.kind = kind;
    made.process = actor.process;
    made.actor = actor.actor;
    made.role.assign(actor.role);
    made.name.assign(name);
    return made;
  }
  RunStep& add_step(const Actor& actor) {
    RunStep& made = log_.steps.emplace_back();
    made.record = static_cast<std::uint32_t>(log_.records.size());
    made.process = actor.process;
    made.actor = actor.actor;
    made.role.assign(actor.role);
    return made;
  }

  RunLog log_;
};

const std::vector<Finding> seen = {
    {.claim = "toy: a file that exists can be opened", .seen = "ENOENT"}};

/// Worker 1 checks and opens; worker 2 removes in between. Before and after it each has a file of
/// its own.
Story check_then_act() {
  Story story;
  story.fact(one, fact::born, "root").fact(two, fact::born, "root");
  for (int time = 0; time < 6; ++time) {
    story.call(one, Call::write, "own").call(two, Call::write, "other");
  }
  story.call(one, Call::status_at, "a.bin")
      .switches(one, two)
      .call(two, Call::unlink, "a.bin")
      .call(two, Call::write, "other")
      .call(one, Call::open, "a.bin", ENOENT)
      .fact(one, fact::refuted, seen.front().claim)
      .fact(one, fact::seen, seen.front().seen)
      .call(one, Call::write, "own")
      .fact(one, fact::died, fact::ended)
      .fact(two, fact::died, fact::ended);
  return story;
}

std::vector<std::string> texts_of(const Timeline& timeline) {
  std::vector<std::string> texts;
  for (const TimelineRow& row : timeline.rows) {
    texts.push_back(row.kind == TimelineRow::Kind::gap
                        ? row.text
                        : timeline.actors[row.actor] + ": " + row.text);
  }
  return texts;
}

TEST(Timeline, has_the_calls_on_the_object_that_is_raced_for_around_a_switch) {
  const Timeline timeline = timeline_of(check_then_act().log(), seen);
  EXPECT_THAT(timeline.actors, ElementsAre("worker_1", "worker_2"));
  EXPECT_THAT(timeline.objects, ElementsAre("a.bin"));
  EXPECT_THAT(timeline.findings, IsEmpty());
  EXPECT_EQ(timeline.switches, 1U);
  EXPECT_THAT(texts_of(timeline),
              ElementsAre("worker_1: status_at(a.bin)",
                          "worker_1: paused before open(a.bin)",
                          "worker_2: unlink(a.bin)",
                          "worker_1: open(a.bin) = ENOENT",
                          "worker_1: " + seen.front().claim + ": ENOENT"));
  expect_transcript(to_text(timeline));
}

TEST(Timeline, lists_a_finding_without_a_place_in_the_run_at_the_end) {
  const std::vector<Finding> leak = {
      {.claim = "no-leak: every name created is removed", .seen = "/dev/shm/a"}};
  const Timeline timeline = timeline_of(check_then_act().log(), leak);
  EXPECT_EQ(timeline.findings, leak);
  EXPECT_THAT(to_text(timeline), HasSubstr("after the run: FINDING no-leak"));
  EXPECT_THAT(to_html(timeline, "t", "c"), HasSubstr("<li class=\"finding\">no-leak"));
}

TEST(Timeline, marks_a_fault_in_the_row_of_its_call) {
  Story story;
  story.call(one, Call::write, "a.bin")
      .fails(one, Call::unlink, "a.bin", EACCES)
      .call(two, Call::open, "a.bin")
      .fact(two, fact::fired, "kill_after")
      .fact(two, fact::died, fact::killed);
  const Timeline timeline = timeline_of(story.log(), {});
  EXPECT_THAT(texts_of(timeline),
              ElementsAre("worker_1: write(a.bin)",
                          "worker_1: unlink(a.bin) [fail_once] = EACCES",
                          "worker_2: open(a.bin)",
                          "worker_2: [kill_after]"));
  EXPECT_TRUE(timeline.rows[1].is_fault);
  EXPECT_TRUE(timeline.rows[3].is_fault);
  EXPECT_EQ(timeline.switches, 0U);
  expect_transcript(to_text(timeline));
}

TEST(Timeline, has_two_rows_for_a_call_in_which_another_actor_runs) {
  Story story;
  story.begin(one, Call::lock_range, "a.lock")
      .call(two, Call::lock_range, "a.lock")
      .end(one, Call::lock_range, "a.lock")
      .begin(two, Call::lock_range, "a.lock");
  EXPECT_THAT(texts_of(timeline_of(story.log(), {})),
              ElementsAre("worker_1: lock_range(a.lock) ...",
                          "worker_2: lock_range(a.lock)",
                          "worker_1: lock_range(a.lock) = ok",
                          "worker_2: lock_range(a.lock) ..."));
}

TEST(Timeline, has_steps_of_threads_on_monitors_and_atomics) {
  Story story;
  story.step(two, "load", "atomic 3")
      .step(two, "lock", "monitor 0")
      .switches(two, thread_of_two)
      .step(thread_of_two, "store", "atomic 3")
      .step(two, "store", "atomic 3")
      .step(one, "store", "atomic 3");
  const Timeline timeline = timeline_of(story.log(), {});
  EXPECT_THAT(timeline.actors, ElementsAre("worker_2", "worker_2 thread 2"));
  EXPECT_THAT(timeline.others, ElementsAre("worker_1"));
  EXPECT_THAT(timeline.objects, ElementsAre("atomic 3 of worker_2"));
  EXPECT_THAT(texts_of(timeline),
              ElementsAre("worker_2: load(atomic 3)",
                          "worker_2: paused before store(atomic 3)",
                          "worker_2 thread 2: store(atomic 3)",
                          "worker_2: store(atomic 3)"));
}

TEST(Timeline, takes_reads_and_what_a_process_has_alone_for_no_race) {
  Story story;
  story.call(one, Call::status_at, "a")
      .call(two, Call::status_at, "a")
      .call(one, Call::write, "pipe.write")
      .call(two, Call::write, "pipe.write")
      .call(one, Call::send, "b")
      .call(two, Call::send, "c");
  const Timeline timeline = timeline_of(story.log(), {});
  EXPECT_THAT(timeline.objects, IsEmpty());
  EXPECT_THAT(timeline.rows, SizeIs(6)) << "without a race all steps are shown";
}

TEST(Timeline, takes_the_two_ends_of_a_connection_for_one_object) {
  const Actor tracker{.role = "tracker", .process = 3, .actor = 4};
  Story story;
  story.call(one, Call::send, "tracker").call(tracker, Call::receive, "conn:worker_1");
  EXPECT_THAT(timeline_of(story.log(), {}).rows, SizeIs(2));
  EXPECT_THAT(timeline_of(story.log(), {}).objects, ElementsAre("conn:worker_1", "tracker"));
}

TEST(Timeline, names_the_operation_that_a_shown_step_belongs_to) {
  Story story;
  story.operation(one, RecordKind::operation_begin, "dump")
      .call(one, Call::write, "a")
      .operation(one, RecordKind::operation_end, "dump")
      .operation(one, RecordKind::operation_begin, "rest")
      .call(one, Call::write, "own")
      .operation(one, RecordKind::operation_end, "rest")
      .call(two, Call::unlink, "a");
  const std::vector<std::string> texts = texts_of(timeline_of(story.log(), {}));
  EXPECT_THAT(texts, SizeIs(3));
  EXPECT_THAT(texts.front(), HasSubstr("dump"));
}

TEST(Timeline, shows_that_another_actor_than_the_usual_one_follows) {
  Story story;
  story.call(root, Call::unlink, "a")
      .switches(root, one, two)
      .call(two, Call::unlink, "a", ENOENT)
      .call(one, Call::unlink, "a", ENOENT);
  const Timeline timeline = timeline_of(story.log(), {});
  EXPECT_THAT(texts_of(timeline), Contains("worker_1: paused before unlink(a)"));
  EXPECT_THAT(timeline.actors, ElementsAre("worker_1", "worker_2"));
  EXPECT_EQ(timeline.rows.front().to, 1U);
}

TEST(Timeline, counts_a_time_limit_that_ends_early_as_a_switch) {
  Story story;
  story.call(one, Call::write, "a").fact(one, fact::early, "").call(two, Call::write, "a");
  const Timeline timeline = timeline_of(story.log(), {});
  EXPECT_EQ(timeline.switches, 1U);
  EXPECT_EQ(timeline.rows[1].kind, TimelineRow::Kind::turn);
  EXPECT_THAT(to_text(timeline), HasSubstr("  * its time limit ends early"));
}

/// `count` workers write the same file, with a switch before each.
Story crowd(std::uint16_t count, int rounds) {
  Story story;
  for (int round = 0; round < rounds; ++round) {
    for (std::uint16_t at = 0; at < count; ++at) {
      const Actor writer{.role = "worker_" + std::to_string(at), .process = at, .actor = at};
      const auto next = static_cast<std::uint16_t>((at + 1) % count);
      story.call(writer, Call::write_at, "shared/file_with_a_long_name.bin")
          .switches(writer,
                    {.role = "worker_" + std::to_string(next), .process = next, .actor = next});
    }
  }
  return story;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

TEST(TimelineText, is_a_list_if_there_are_too_many_actors_for_columns) {
  const std::string text = to_text(timeline_of(crowd(10, 1).log(), {}));
  for (const std::string& line : lines_of(text)) {
    EXPECT_LE(line.size(), 120U) << line;
  }
  EXPECT_THAT(text, HasSubstr("worker_9"));
  expect_transcript(text);
}

TEST(TimelineText, keeps_the_rows_closest_to_what_matters_if_it_is_short) {
  Story story;
  for (int time = 0; time < 50; ++time) {
    story.call(one, Call::write, "a").call(two, Call::write, "a");
  }
  story.fact(one, fact::refuted, seen.front().claim);
  const Timeline timeline = timeline_of(story.log(), seen);
  EXPECT_THAT(timeline.rows, SizeIs(101));
  const std::string text = to_text(timeline, {.rows_max = 5});
  EXPECT_THAT(text, HasSubstr("FINDING"));
  expect_transcript(text);
}

TEST(TimelinePage, has_a_column_for_each_actor_and_marks_the_rows) {
  const std::string page =
      to_html(timeline_of(check_then_act().log(), seen), "toy/<b>", "lastref replay 'a&b'");
  EXPECT_THAT(page, HasSubstr("<th class=\"actor\" scope=\"col\">worker_1</th>"));
  EXPECT_THAT(page, HasSubstr("<tr class=\"turn\">"));
  EXPECT_THAT(page, HasSubstr("<tr class=\"finding\">"));
  EXPECT_THAT(page, HasSubstr("toy/&lt;b&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  expect_transcript(page.substr(page.find("</style>")));
}

TEST(Explained, a_violation_has_the_calls_on_the_object_that_was_raced_for) {
  Violation violation;
  violation.last_crossings = {"root: now()#1"};
  explain(violation, timeline_of(check_then_act().log(), seen));
  EXPECT_THAT(violation.timeline, HasSubstr("paused before open(a.bin)"));
  EXPECT_THAT(
      violation.last_crossings,
      ElementsAre(
          "worker_1 status_at(a.bin)", "worker_2 unlink(a.bin)", "worker_1 open(a.bin) = ENOENT"));
}

TEST(Explained, a_violation_in_the_usual_schedule_stays_as_it_is) {
  Story story;
  story.call(one, Call::write, "a").call(two, Call::unlink, "a");
  Violation violation;
  violation.last_crossings = {"root: now()#1"};
  explain(violation, timeline_of(story.log(), {}));
  EXPECT_THAT(violation.timeline, IsEmpty());
  EXPECT_THAT(violation.last_crossings, ElementsAre("root: now()#1"));
}

/// Any steps of any actors.
Story any_story() {
  Story story;
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1 << 16));
  const std::string object = *rc::gen::arbitrary<std::string>();
  for (const int step : steps) {
    const auto number = static_cast<std::uint16_t>(step >> 4 & 15);
    const Actor actor{.role = "r" + std::to_string(number / 2),
                      .process = static_cast<std::uint16_t>(number / 2),
                      .actor = number};
    const std::string name = (step & 1 << 12) != 0 ? "a" : object;
    switch (step % 10) {
      case 0:
        story.begin(actor, Call::lock_range, name);
        break;
      case 1:
        story.end(actor, Call::lock_range, name, step % 3);
        break;
      case 2:
        story.fact(actor, fact::fired, "fail_once");
        break;
      case 3:
        story.fact(actor, fact::died, fact::killed);
        break;
      case 4:
        story.switches(
            actor,
            {.role = "r", .process = 1, .actor = static_cast<std::uint16_t>(step >> 8 & 15)});
        break;
      case 5:
        story.step(actor, "load", name);
        break;
      case 6:
        story.fact(actor, fact::refuted, "c");
        break;
      case 7:
        story.operation(actor, RecordKind::operation_begin, name);
        break;
      default:
        story.call(actor, Call::write, name);
    }
  }
  return story;
}

RC_GTEST_PROP(TimelineProperties, any_log_has_a_timeline_that_can_be_written, ()) {
  const Story story = any_story();
  const std::vector<Finding> findings = {{.claim = "c", .seen = "s"}};
  const Timeline timeline = timeline_of(story.log(), findings);
  for (const TimelineRow& row : timeline.rows) {
    RC_ASSERT(row.kind == TimelineRow::Kind::gap || row.actor < timeline.actors.size());
    RC_ASSERT(!row.to || *row.to < timeline.actors.size());
  }
  const auto turns = std::ranges::count(timeline.rows, TimelineRow::Kind::turn, &TimelineRow::kind);
  RC_ASSERT(static_cast<std::size_t>(turns) == timeline.switches);
  const auto width = *rc::gen::inRange<std::size_t>(60, 200);
  const auto rows_max = *rc::gen::inRange<std::size_t>(1, 50);
  for (const std::string& line :
       lines_of(to_text(timeline, {.width = width, .rows_max = rows_max}))) {
    RC_ASSERT(line.size() <= width);
  }
  const std::string page = to_html(timeline, "t", "c");
  std::size_t rows = 0;
  for (std::size_t at = page.find("<tr class"); at != std::string::npos;
       at = page.find("<tr class", at + 1)) {
    ++rows;
  }
  RC_ASSERT(rows == timeline.rows.size());
}

}  // namespace
}  // namespace lastref::harness
