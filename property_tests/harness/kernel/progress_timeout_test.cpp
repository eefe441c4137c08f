// progress_timeout_test: how long the kernel world waits, and what it reports as a hang.
#include "harness/kernel/progress_timeout.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/platform/child_process.hpp"
#include "harness/platform/proc.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref::harness {
namespace {

using pretend::expect_transcript;
using std::chrono::milliseconds;
using testing::Contains;
using testing::Gt;
using testing::IsEmpty;
using testing::Not;

constexpr milliseconds a_bit{10};
constexpr Doing nothing{.could_go_on = false, .used = milliseconds(500)};
constexpr Doing starved{.could_go_on = true, .used = milliseconds(500)};

/// A child that runs until it is killed: in state S, or, if it is busy, in state R.
class Child {
 public:
  enum class Does { rest, spin, rest_above_one_that_spins };

  explicit Child(Does what)
      : pid_(start_child([what]() -> int {
          const bool is_parent = what == Does::rest_above_one_that_spins && ::fork() != 0;
          while (what != Does::rest && !is_parent) {
          }
          for (;;) {
            ::pause();
          }
        })) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    for (const os::Pid each : children_of(pid_)) {
      ::kill(each, SIGKILL);
    }
    ::kill(pid_, SIGKILL);
    reap(pid_);
  }

  os::Pid pid() const { return pid_; }
  Doing doing() const { return doing_of(std::array{pid_}); }

 private:
  os::Pid pid_;
};

TEST(Doing, of_who_rests_is_nothing_and_costs_nothing) {
  const Child child(Child::Does::rest);
  while (child.doing().could_go_on) {
  }
  EXPECT_LT(child.doing().used, milliseconds(500));
  EXPECT_THAT(children_of(::getpid()), Contains(child.pid()));
}

TEST(Doing, of_who_spins_is_seen_and_adds_up) {
  const Child child(Child::Does::spin);
  const Doing first = child.doing();
  EXPECT_TRUE(first.could_go_on);
  while (child.doing().used <= first.used) {
  }
  EXPECT_THAT(child.doing().used, Gt(first.used));
}

TEST(Doing, is_that_of_all_who_descend_from_it) {
  const Child child(Child::Does::rest_above_one_that_spins);
  while (children_of(child.pid()).empty()) {
  }
  const Doing first = child.doing();
  while (child.doing().used <= first.used) {
  }
  EXPECT_TRUE(child.doing().could_go_on);
}

TEST(Doing, of_who_is_gone_is_nothing) {
  const os::Pid gone = [] {
    const Child child(Child::Does::rest);
    return child.pid();
  }();
  EXPECT_FALSE(doing_of(std::array{gone}).could_go_on);
  EXPECT_EQ(doing_of(std::array{gone}).used, milliseconds(0));
}

TEST(ProgressTimeout, ends_when_nobody_could_go_on) {
  ProgressTimeout timeout;
  for (milliseconds waited{}; waited < ProgressTimeout::at_rest; waited += a_bit) {
    EXPECT_FALSE(timeout.wants_to_know());
    EXPECT_THAT(timeout.ends_with(nothing), IsEmpty());
    timeout.wait(a_bit);
  }
  EXPECT_THAT(timeout.ends_with(nothing), Not(IsEmpty()));
  expect_transcript(timeout.ends_with(nothing));
}

TEST(ProgressTimeout, bears_a_machine_that_is_busy_with_something_else) {
  ProgressTimeout timeout;
  for (milliseconds waited{}; waited < ProgressTimeout::at_most; waited += a_bit) {
    ASSERT_THAT(timeout.ends_with(starved), IsEmpty());
    timeout.wait(a_bit);
  }
  EXPECT_THAT(timeout.ends_with(starved), Not(IsEmpty()));
  expect_transcript(timeout.ends_with(starved));
}

TEST(ProgressTimeout, ends_with_who_only_uses_up_the_processor) {
  ProgressTimeout timeout;
  timeout.wait(ProgressTimeout::at_rest);
  Doing busy = starved;
  EXPECT_THAT(timeout.ends_with(busy), IsEmpty());
  busy.used += ProgressTimeout::at_work - milliseconds(1);
  EXPECT_THAT(timeout.ends_with(busy), IsEmpty());
  busy.used += milliseconds(1);
  EXPECT_THAT(timeout.ends_with(busy), Not(IsEmpty()));
  expect_transcript(timeout.ends_with(busy));
}

TEST(ProgressTimeout, begins_anew_with_each_progress) {
  ProgressTimeout timeout;
  timeout.wait(ProgressTimeout::at_rest);
  timeout.reset();
  EXPECT_FALSE(timeout.wants_to_know());
  EXPECT_THAT(timeout.ends_with(nothing), IsEmpty());
}

TEST(ProgressTimeout, with_a_child_ends_with_its_death) {
  const Child child(Child::Does::spin);
  ::kill(child.pid(), SIGKILL);
  EXPECT_TRUE(wait_dead(child.pid()));
}

}  // namespace
}  // namespace lastref::harness
