// matrix_test: the matrix of a hand-made clean run is as the fault model defines it, fault by
// fault.
#include "harness/explore/matrix.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "harness/report/counts.hpp"

namespace lastref::harness {
namespace {

Crossing crossing(const std::string& role,
                  const std::string& call,
                  const std::string& object,
                  std::uint32_t k = 1) {
  return {.site = {.role = role, .name = call, .object = object, .k = k}};
}

Crossing waited(Crossing made) {
  made.waited = true;
  return made;
}

std::vector<std::string> texts_of(std::span<const Fault> faults) {
  std::vector<std::string> texts;
  for (const Fault& fault : faults) {
    texts.push_back(to_text(fault));
  }
  return texts;
}

using Texts = std::vector<std::string>;

Texts matrix_of_one(const Crossing& one) {
  return texts_of(matrix_of(std::span(&one, 1)));
}

TEST(Matrix, a_plain_call_gets_kills_and_each_errno_once_and_always) {
  EXPECT_EQ(matrix_of_one(crossing("tracker", "find_lock", "lock")),
            (Texts{"tracker/find_lock(lock)#1 kill_before",
                   "tracker/find_lock(lock)#1 kill_before whole_tree",
                   "tracker/find_lock(lock)#1 kill_after",
                   "tracker/find_lock(lock)#1 fail_once ENOLCK",
                   "tracker/find_lock(lock)#1 fail_always ENOLCK",
                   "tracker/find_lock(lock)#1 fail_in_all ENOLCK",
                   "tracker/find_lock(lock)#1 interrupt",
                   "tracker/find_lock(lock)#1 pause"}));
}

TEST(Matrix, an_allocation_fails_once_and_from_then_on) {
  EXPECT_EQ(matrix_of_one(crossing("tracker", "operator_new", "", 7)),
            (Texts{"tracker/operator_new()#7 fail_once ENOMEM",
                   "tracker/operator_new()#7 fail_always ENOMEM"}));
}

TEST(Matrix, what_is_started_again_fails_in_each_process_from_its_first_crossing_on) {
  const auto in_all = [](const Crossing& one) {
    return std::ranges::count(matrix_of(std::span(&one, 1)), FaultKind::fail_in_all, &Fault::kind);
  };
  EXPECT_EQ(in_all(crossing("worker_2", "open", "a.bin")), 3) << "all errnos but EINTR";
  EXPECT_EQ(in_all(crossing("tracker#2", "open", "a.bin")), 3);
  EXPECT_EQ(in_all(crossing("worker", "open", "a.bin", 2)), 0);
  EXPECT_EQ(in_all(crossing("root", "open", "a.bin")), 0);
}

TEST(Matrix, signals_without_an_end_are_not_planned) {
  EXPECT_EQ(matrix_of_one(crossing("root", "entropy", "")),
            (Texts{"root/entropy()#1 kill_before",
                   "root/entropy()#1 kill_before whole_tree",
                   "root/entropy()#1 kill_after",
                   "root/entropy()#1 fail_once EINTR",
                   "root/entropy()#1 fail_once EIO",
                   "root/entropy()#1 fail_always EIO",
                   "root/entropy()#1 pause"}));
}

TEST(Matrix, a_call_that_waited_is_killed_while_it_waits) {
  EXPECT_EQ(matrix_of_one(waited(crossing("root", "now", ""))),
            (Texts{"root/now()#1 kill_before",
                   "root/now()#1 kill_before whole_tree",
                   "root/now()#1 kill_after",
                   "root/now()#1 kill_blocked",
                   "root/now()#1 pause"}));
}

TEST(Matrix, a_call_that_takes_bytes_may_take_fewer) {
  const Texts texts = matrix_of_one(crossing("client_a", "write_at", "a.bin", 3));
  EXPECT_EQ(texts.size(), 10U);
  EXPECT_EQ(std::ranges::count(texts, "client_a/write_at(a.bin)#3 shorten"), 1);
}

TEST(Matrix, a_write_that_death_can_cut_is_cut) {
  Crossing cut = crossing("client_a", "write_at", "a.bin");
  EXPECT_EQ(std::ranges::count(matrix_of_one(cut), "client_a/write_at(a.bin)#1 kill_amid"), 0);
  cut.may_be_cut = true;
  EXPECT_EQ(std::ranges::count(matrix_of_one(cut), "client_a/write_at(a.bin)#1 kill_amid"), 1);
}

TEST(Matrix, a_limit_that_was_waited_for_ends_early_once_and_always) {
  const auto timeouts = [](const Crossing& one) {
    return std::ranges::count_if(matrix_of(std::span(&one, 1)), is_early_timeout, &Fault::kind);
  };
  Crossing limited = crossing("root", "poll", "");
  limited.has_limit = true;
  EXPECT_EQ(timeouts(limited), 0);
  EXPECT_EQ(timeouts(waited(limited)), 2);
  EXPECT_EQ(timeouts(waited(crossing("root", "poll", ""))), 0);
}

TEST(Matrix, a_step_gets_the_kills_the_pause_and_the_interrupts_alone) {
  EXPECT_EQ(matrix_of_one(crossing("tracker", "tracker_doomed", "")),
            (Texts{"tracker/tracker_doomed()#1 kill_before",
                   "tracker/tracker_doomed()#1 kill_before whole_tree",
                   "tracker/tracker_doomed()#1 kill_after",
                   "tracker/tracker_doomed()#1 interrupt",
                   "tracker/tracker_doomed()#1 pause"}));
}

TEST(Matrix, a_call_that_never_came_back_has_no_after) {
  Crossing cut = crossing("root", "now", "");
  cut.error = -1;
  EXPECT_EQ(matrix_of_one(cut),
            (Texts{"root/now()#1 kill_before", "root/now()#1 kill_before whole_tree"}));
}

TEST(Matrix, of_nothing_is_nothing) {
  EXPECT_TRUE(matrix_of({}).empty());
}

TEST(Matrix, is_counted_by_role_and_by_kind) {
  MatrixCount count;
  const std::vector clean = {crossing("tracker", "find_lock", "lock"),
                             waited(crossing("tracker#2", "now", ""))};
  for (const Fault& fault : matrix_of(clean)) {
    count.plan(fault);
    if (fault.kind == FaultKind::kill_after) {
      count.execute(fault);
    }
  }
  EXPECT_EQ(count.all, (Count{.total = 14, .executed = 2}));
  EXPECT_EQ(count.by_role.size(), 1U);
  EXPECT_EQ(count.by_role["tracker"], count.all);
  EXPECT_EQ(count.by_fault["kill_whole_tree"], (Count{.total = 2}));
  EXPECT_EQ(count.by_fault["kill_after"], (Count{.total = 2, .executed = 2}));
  EXPECT_EQ(count.by_fault["kill_blocked"], (Count{.total = 1}));
}

std::vector<Crossing> some_crossings(std::uint32_t seed, std::size_t size) {
  std::mt19937 next(seed);
  const auto below = [&](std::size_t end) { return next() % end; };
  const char* const roles[] = {"root", "tracker", "client_a"};
  const char* const objects[] = {"", "lock", "a.bin"};
  std::vector<Crossing> made;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t row = below(call_rows().size() + step_rows().size());
    const std::string_view name = row < call_rows().size()
                                      ? call_rows()[row].method
                                      : step_rows()[row - call_rows().size()].name;
    Crossing one = crossing(roles[below(3)],
                            std::string(name),
                            objects[below(3)],
                            static_cast<std::uint32_t>(1 + below(3)));
    one.waited = below(2) == 0;
    made.push_back(one);
  }
  return made;
}

RC_GTEST_PROP(MatrixProperties, does_not_depend_on_the_order_of_the_clean_run, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  std::vector<Crossing> clean = some_crossings(seed, *rc::gen::inRange<std::size_t>(0, 40));
  const std::vector<Fault> matrix = matrix_of(clean);
  std::shuffle(clean.begin(), clean.end(), std::mt19937(seed + 1));
  RC_ASSERT(matrix_of(clean) == matrix);
}

RC_GTEST_PROP(MatrixProperties, plans_each_fault_once_at_points_of_the_clean_run, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  const auto clean = some_crossings(seed, *rc::gen::inRange<std::size_t>(0, 40));
  std::vector<Fault> matrix = matrix_of(clean);
  for (const Fault& fault : matrix) {
    const bool crossed = std::ranges::find(clean, fault.site, &Crossing::site) != clean.end();
    RC_ASSERT(crossed);
  }
  std::ranges::sort(matrix);
  const bool repeats = std::ranges::adjacent_find(matrix) != matrix.end();
  RC_ASSERT(!repeats);
}

}  // namespace
}  // namespace lastref::harness
