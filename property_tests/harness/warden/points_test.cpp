// points_test: names of calls that mean the same in the next run of a program.
#include "harness/warden/points.hpp"

#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "property_tests/harness/warden/watched.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref::harness::warden {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

CallSeen call(std::string role, std::string_view name, std::string object, std::uint64_t k = 1) {
  return {.role = std::move(role), .call = name, .object = std::move(object), .k = k};
}

std::vector<std::string> texts_of(const Points& points) {
  std::vector<std::string> texts;
  for (const Point& each : points.all) {
    texts.push_back(each.to_text());
  }
  return texts;
}

TEST(Points, of_two_runs_that_are_alike_are_the_calls) {
  const std::vector<CallSeen> run = {
      call("root", "mkdir", "/a"), call("child.1", "mkdir", "/a"), call("root", "mkdir", "/a", 2)};
  const Points points = points_of(run, run);
  EXPECT_THAT(points.difference, IsEmpty());
  EXPECT_THAT(texts_of(points),
              ElementsAre("root/mkdir(/a)#1", "child.1/mkdir(/a)#1", "root/mkdir(/a)#2"));
}

TEST(Points, leave_out_the_word_in_which_the_runs_differ) {
  const Points points = points_of({call("root", "openat", "/dev/shm/psm_ab12"),
                                   call("root", "openat", "/tmp/a-17/x.0"),
                                   call("root", "openat", "/dev/shm/psm_ab12", 2),
                                   call("root", "openat", "/dev/shm/psm_ff00")},
                                  {call("root", "openat", "/dev/shm/psm_ab99"),
                                   call("root", "openat", "/tmp/a-18/x.0"),
                                   call("root", "openat", "/dev/shm/psm_ab99", 2),
                                   call("root", "openat", "/dev/shm/psm_ee00")});
  EXPECT_THAT(points.difference, IsEmpty());
  // Each also fits the calls of the others.
  EXPECT_THAT(texts_of(points),
              ElementsAre("root/openat(/dev/shm/psm_*)#1",
                          "root/openat(/tmp/a-*/x.0)#1",
                          "root/openat(/dev/shm/psm_*)#2",
                          "root/openat(/dev/shm/psm_*)#3"));
}

TEST(Points, tell_the_first_difference) {
  const std::vector<CallSeen> run = {
      call("root", "mkdir", "/a"), call("root", "mkdir", "/b"), call("root", "rmdir", "/b")};
  const auto difference = [&](const std::vector<CallSeen>& other) {
    const Points points = points_of(run, other);
    EXPECT_THAT(points.all, SizeIs(3));
    EXPECT_EQ(points.all[2].to_text(), "root/rmdir(/b)#1");
    return points.difference;
  };
  EXPECT_THAT(difference({run[0], run[2], run[1]}), HasSubstr("2 of root"));
  EXPECT_THAT(difference({run[0], run[1]}), HasSubstr("3 of root"));
  pretend::expect_transcript({difference({run[0], run[2], run[1]}),
                              difference({run[0], run[1]}),
                              difference({run[0], run[1], run[2], run[0]}),
                              difference({run[0], run[1], run[2], call("child.1", "mkdir", "/a")}),
                              difference({call("root", "mkdir", "/c/d"), run[1], run[2]})});
}

TEST(Points, leave_out_words_behind_a_difference_too) {
  const Points points = points_of({call("root", "openat", "/t/psm_ab12"),
                                   call("root", "mkdir", "/t/more"),
                                   call("root", "unlink", "/t/psm_ab12"),
                                   call("root", "mkdir", "/t/pool-17/a"),
                                   call("root", "mkdir", "/t/kept")},
                                  {call("root", "openat", "/t/psm_ff99"),
                                   call("root", "unlink", "/t/psm_ff99"),
                                   call("root", "mkdir", "/t/pool-18/a"),
                                   call("root", "mkdir", "/t/b"),
                                   call("root", "mkdir", "/t/kept")});
  EXPECT_THAT(points.difference, HasSubstr("mkdir(/t/more)"));
  EXPECT_THAT(points.difference, HasSubstr("unlink(/t/psm_ff99)"));
  EXPECT_THAT(texts_of(points),
              ElementsAre("root/openat(/t/psm_*)#1",
                          testing::_,
                          "root/unlink(/t/psm_*)#1",
                          "root/mkdir(/t/pool-*/a)#1",
                          "root/mkdir(/t/kept)#1"));
}

/// A run that makes files with random names, after a first call that differs from other runs.
std::vector<CallSeen> with_random_names(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<CallSeen> run = {call("root", "mkdir", "/t/run-" + std::to_string(seed) + "/first")};
  run.resize(seed == 1 ? 0 : 1);
  for (std::size_t at = 0; at < count; ++at) {
    std::string name = at % 2 == 0 ? "/t/job." : "/t/log.";
    for (int letter = 0; letter < 8; ++letter) {
      name += static_cast<char>('a' + random() % 26);
    }
    run.push_back(call("root", "openat", name + (at % 3 == 0 ? ".tmp" : ".out")));
  }
  return run;
}

TEST(Points, of_random_names_are_found_wherever_the_other_name_is_sorted) {
  for (const auto& [one, other] : {std::pair("/t/aa", "/t/zz"), std::pair("/t/zz", "/t/aa")}) {
    const Points points = points_of({call("root", "rmdir", "/t/more"), call("root", "mkdir", one)},
                                    {call("root", "mkdir", other)});
    EXPECT_THAT(texts_of(points), Contains("root/mkdir(/t/*)#1")) << one;
  }
}

TEST(Points, of_random_names_are_found_without_comparing_each_with_each) {
  const auto compared = [](std::size_t count) {
    const Points points = points_of(with_random_names(count, 1), with_random_names(count, 2));
    EXPECT_THAT(points.difference, HasSubstr("call 1 of root"));
    std::set<std::string> patterns;
    for (const Point& each : points.all) {
      patterns.insert(each.object);
    }
    EXPECT_THAT(patterns,
                ElementsAre("/t/job.*.out", "/t/job.*.tmp", "/t/log.*.out", "/t/log.*.tmp"));
    return points.comparisons;
  };
  EXPECT_LE(compared(8000), 5 * compared(2000));
}

using PointsOf = WardenTest;

TEST_F(PointsOf, a_random_name_strikes_in_the_next_run) {
  const pretend::FreshFolder folder;
  const std::string text = "cd " + folder.path() + "; f=$(mktemp t.XXXXXXXX); : > $f; rm $f";
  const Points points = points_of(script(text).calls, script(text).calls);
  EXPECT_THAT(points.difference, IsEmpty());
  std::string removal;
  for (const Point& each : points.all) {
    removal = each.call == "unlinkat" ? each.to_text() : removal;
  }
  EXPECT_EQ(removal, "child.2/unlinkat(" + folder.path() + "/t.*)#1");
  const Watched watched = script(text, {removal + " fail_once EPERM"});
  EXPECT_THAT(watched.struck, ElementsAre(true));
  EXPECT_THAT(watched.leftovers,
              ElementsAre(Field(&Leftover::path, HasSubstr(folder.path() + "/t."))));
  empty(folder);
}

}  // namespace
}  // namespace lastref::harness::warden
