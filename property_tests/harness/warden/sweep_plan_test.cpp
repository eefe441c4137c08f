// Sweep plans: which points of a clean run get faults, and in which order.
#include "harness/warden/sweep_plan.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/choice/choices.hpp"
#include "harness/warden/syscalls.hpp"
#include "harness/warden/world_fault.hpp"

namespace lastref::harness::warden {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::ResultOf;
using testing::SizeIs;

Point point(std::string role, std::string_view call, std::string object, std::uint64_t k = 1) {
  return {.role = std::move(role),
          .call = syscall_named(call)->name,
          .object = std::move(object),
          .k = k,
          .errors = {EACCES, ENOSPC, EPIPE}};
}

const SweptWorld folders = {.folders = {"/tmp", "/work"}, .to_fill = {}};

TEST(SweepPlan, leaves_out_what_says_little_about_the_program) {
  const SweepPlan plan = plan_sweep({point("root", "openat", "/usr/lib/libc.so.6"),
                                     point("root", "openat", "/tmpfiles/a"),
                                     point("root", "execve", "/tmp/job.sh"),
                                     point("root", "exit_group", "")},
                                    folders);
  EXPECT_THAT(plan.faults, IsEmpty());
  EXPECT_EQ(plan.points, 0U);
  EXPECT_EQ(plan.left_out.at("names in other folders"), 2U);
  EXPECT_EQ(plan.left_out.at("starts of programs"), 1U);
  EXPECT_EQ(plan.left_out.at("ends of processes"), 1U);
}

TEST(SweepPlan, has_the_first_of_equal_calls_of_each_process) {
  const SweepPlan plan = plan_sweep({point("root", "openat", "/tmp/a*", 3),
                                     point("root", "openat", "/tmp/a*", 4),
                                     point("child.1", "openat", "/tmp/a*", 1)},
                                    folders);
  EXPECT_EQ(plan.points, 2U);
  EXPECT_EQ(plan.left_out.at("later calls on the same object"), 1U);
  EXPECT_EQ(plan.faults.at(0).role, "root");
  EXPECT_EQ(plan.faults.at(0).k, 3U);
  EXPECT_EQ(plan.faults.at(0).last, 3U);
  EXPECT_EQ(plan.faults.at(1).role, "child.1");
}

TEST(SweepPlan, tries_each_point_before_it_tries_one_again) {
  const SweepPlan plan = plan_sweep({point("root", "openat", "/tmp/a"),
                                     point("root", "unlink", "/work"),
                                     point("root", "fork", "")},
                                    folders);
  ASSERT_EQ(plan.points, 3U);
  for (std::size_t at = 0; at + plan.points < plan.faults.size(); at += plan.points) {
    EXPECT_EQ(plan.faults.at(at).call, "openat");
  }
  EXPECT_EQ(plan.faults.at(2).object, "*");
}

/// The point, with what has led to its call
Point at(Point point, std::vector<std::string> frames) {
  point.site.frames = std::move(frames);
  return point;
}

TEST(SweepPlan, has_the_first_of_equal_calls_at_each_site) {
  const SweepPlan plan = plan_sweep({at(point("root", "openat", "/tmp/a", 1), {"header"}),
                                     at(point("root", "openat", "/tmp/a", 2), {"page"}),
                                     at(point("root", "openat", "/tmp/a", 3), {"page"}),
                                     at(point("root", "openat", "/tmp/a", 4), {"header"})},
                                    folders);
  EXPECT_EQ(plan.points, 2U);
  EXPECT_EQ(plan.left_out.at("later calls on the same object"), 2U);
  EXPECT_EQ(plan.faults.at(0).k, 1U);
  EXPECT_EQ(plan.faults.at(1).k, 2U);
}

std::vector<std::size_t> all_cells_of(const SweepPlan& plan) {
  std::vector<std::size_t> cells(plan.texts().size());
  std::iota(cells.begin(), cells.end(), 0);
  return cells;
}

TEST(SweepPlan, repeats_what_another_point_of_the_same_site_gets) {
  const SweepPlan plan = plan_sweep({at(point("root", "openat", "/tmp/1"), {"save", "main"}),
                                     at(point("root", "openat", "/tmp/2"), {"save", "main"}),
                                     at(point("root", "openat", "/tmp/3"), {"save", "first"}),
                                     at(point("root", "unlink", "/tmp/3"), {"save", "main"}),
                                     at(point("child.1", "openat", "/tmp/1"), {"save", "main"})},
                                    folders);
  EXPECT_EQ(plan.points, 5U);
  EXPECT_THAT(plan.site_names, SizeIs(4));
  const std::set<std::size_t> repeats = repeats_in(plan, all_cells_of(plan));
  EXPECT_THAT(repeats, SizeIs(plan.faults.size() / plan.points));
  for (const std::size_t cell : repeats) {
    EXPECT_EQ(plan.faults.at(cell).object, "/tmp/2");
  }
}

TEST(SweepPlan, repeats_nothing_where_sites_are_unknown) {
  const SweepPlan plan = plan_sweep({point("root", "openat", "/tmp/1"),
                                     point("root", "openat", "/tmp/2"),
                                     at(point("root", "openat", "/tmp/3"), {"main"})},
                                    folders);
  EXPECT_THAT(plan.site_names, SizeIs(3));
  EXPECT_THAT(repeats_in(plan, all_cells_of(plan)), IsEmpty());
}

RC_GTEST_PROP(SweepPlan, repeats_only_what_comes_before, (std::uint64_t seed)) {
  std::vector<Point> points;
  for (int number = 0; number < 20; ++number) {
    points.push_back(at(point("root", "openat", "/tmp/" + std::to_string(number)),
                        {"site " + std::to_string(next_random(seed) % 4)}));
  }
  const SweepPlan plan = plan_sweep(points, folders);
  const auto count = static_cast<std::size_t>(next_random(seed) % 60);
  const std::vector<std::size_t> cells = draw_cells(plan, all_cells_of(plan), count, seed);
  const std::set<std::size_t> repeats = repeats_in(plan, cells);
  std::set<std::pair<std::size_t, std::string>> tried;
  for (const std::size_t cell : cells) {
    if (cell < plan.faults.size()) {
      const bool is_new =
          tried.emplace(plan.sites.at(cell), to_text(plan.faults.at(cell).action)).second;
      RC_ASSERT(is_new != repeats.contains(cell));
    }
  }
}

TEST(SweepPlan, has_errors_that_can_happen_and_kills_and_signals) {
  const SweepPlan plan = plan_sweep({point("root", "openat", "/tmp/a")}, folders);
  std::vector<int> failures;
  std::map<FaultEffect, int> effects;
  for (const TreeFault& each : plan.faults) {
    const FaultEffect effect = row_of(each.action.kind).effect;
    ++effects[effect];
    if (effect == FaultEffect::fail) {
      failures.push_back(each.action.error);
    }
  }
  EXPECT_THAT(failures, ElementsAre(ENOSPC, EACCES));
  EXPECT_EQ(effects[FaultEffect::kill], 2);
  EXPECT_EQ(effects[FaultEffect::send], 2);
  EXPECT_EQ(plan.faults.front().action.kind, FaultKind::fail_once);
}

TEST(SweepPlan, does_not_report_a_full_pipe_that_is_not_full) {
  const auto is_refused = [](std::string object) {
    Point at = point("root", "write", std::move(object));
    at.errors = {EAGAIN};
    const SweepPlan plan = plan_sweep({at}, folders);
    return std::ranges::any_of(plan.faults,
                               [](const auto& each) { return each.action.error == EAGAIN; });
  };
  EXPECT_FALSE(is_refused("pipe"));
  EXPECT_TRUE(is_refused("socket"));
}

TEST(SweepPlan, pauses_calls_only_if_there_are_several_processes) {
  const auto pauses = [](const std::vector<Point>& points) {
    const SweepPlan plan = plan_sweep(points, folders);
    return std::ranges::count_if(plan.faults, [](const TreeFault& each) {
      return each.action.kind == FaultKind::pause && each.action.seconds == 0;
    });
  };
  EXPECT_EQ(pauses({point("root", "unlink", "/tmp/a"), point("root", "openat", "/tmp/a")}), 0);
  EXPECT_EQ(pauses({point("root", "unlink", "/tmp/a"), point("child.1", "openat", "/etc/a")}), 1);
}

TEST(SweepPlan, has_limits_that_can_matter) {
  EXPECT_THAT(plan_sweep({point("root", "openat", "/etc/a")}, folders).of_whole_runs, IsEmpty());
  Point reads = point("root", "openat", "/tmp/a");
  reads.errors = {EACCES};
  EXPECT_THAT(plan_sweep({reads}, folders).of_whole_runs,
              ElementsAre("limit nofile=4", "limit nofile=8"));
  const std::vector<Point> points = {point("root", "openat", "/tmp/a"), point("root", "fork", "")};
  SweptWorld world = {.folders = folders.folders, .to_fill = {"/dev/shm", "/tmp"}};
  EXPECT_THAT(plan_sweep(points, world).of_whole_runs,
              ElementsAre("limit nofile=4",
                          "limit nofile=8",
                          "limit nproc=1",
                          "limit fsize=1k",
                          "private /tmp=4k",
                          "private /tmp=1m,1"));
  world.limits_processes = false;
  world.peak_memory = (std::uint64_t{128} << 20U) + 1;
  const std::vector<std::string> texts = plan_sweep(points, world).texts();
  EXPECT_THAT(texts, Not(Contains("limit nproc=1")));
  EXPECT_THAT(texts, IsSupersetOf({"limit as=128m", "limit as=64m"}));
  EXPECT_EQ(texts.back(), "private /tmp=1m,1");
  EXPECT_THAT(texts, Each(ResultOf(is_fault, true)));
}

TEST(SweepPlan, limits_memory_below_that_of_a_clean_run_if_it_is_more_than_a_loader_needs) {
  const std::vector<Point> points = {point("root", "openat", "/tmp/a")};
  const auto limits = [&](std::uint64_t mebibytes) {
    std::vector<std::string> all =
        plan_sweep(points, {.folders = folders.folders, .peak_memory = mebibytes << 20U})
            .of_whole_runs;
    std::erase_if(all, [](const std::string& each) { return !each.starts_with("limit as="); });
    return all;
  };
  EXPECT_THAT(limits(0), IsEmpty());
  EXPECT_THAT(limits(8), IsEmpty());
  EXPECT_THAT(limits(9), ElementsAre("limit as=8m"));
  EXPECT_THAT(limits(64), ElementsAre("limit as=32m", "limit as=16m"));
  EXPECT_THAT(limits(100), ElementsAre("limit as=64m", "limit as=32m"));
}

TEST(SweepPlan, draws_one_fault_of_each_point_before_a_second_one) {
  const SweepPlan all = plan_sweep({point("root", "openat", "/tmp/a"),
                                    point("root", "unlink", "/tmp/a"),
                                    point("child.1", "unlink", "/tmp/a")},
                                   folders);
  std::vector<std::size_t> cells(all.faults.size());
  std::iota(cells.begin(), cells.end(), 0);
  std::set<std::vector<std::size_t>> draws;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (std::size_t count = 1; count <= cells.size() + 1; ++count) {
      const auto drawn = draw_cells(all, cells, count, seed);
      EXPECT_EQ(drawn.size(), std::min(count, cells.size()));
      EXPECT_EQ(std::set(drawn.begin(), drawn.end()).size(), drawn.size());
      std::map<std::pair<std::string, std::string>, std::size_t> of_point;
      for (const std::size_t cell : drawn) {
        ++of_point[{all.faults.at(cell).role, all.faults.at(cell).call}];
      }
      EXPECT_EQ(of_point.size(), std::min<std::size_t>(count, 3)) << "seed " << seed;
      EXPECT_EQ(draw_cells(all, cells, count, seed), drawn);
    }
    draws.insert(draw_cells(all, cells, 3, seed));
  }
  EXPECT_GT(draws.size(), 10U);
}

TEST(SweepPlan, has_faults_that_a_run_accepts) {
  const SweepPlan plan =
      plan_sweep({point("child.2.1", "openat", "/tmp/a b*"), point("root", "vfork", "")}, folders);
  for (const TreeFault& each : plan.faults) {
    const auto parsed = parse_tree_fault(to_text(each));
    ASSERT_TRUE(parsed) << to_text(each);
    EXPECT_EQ(*parsed, each);
  }
}

}  // namespace
}  // namespace lastref::harness::warden
