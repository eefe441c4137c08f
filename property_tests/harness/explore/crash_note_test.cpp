// crash_note_test: a run that would end the whole campaign is reported before the end.
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/explore/jobs.hpp"
#include "harness/platform/child_process.hpp"
#include "property_tests/harness/explore/fake_world.hpp"

namespace lastref::harness {
namespace {

using testing::AllOf;
using testing::HasSubstr;

void run_one(FakeWorld::Run run) {
  FakeWorld world(std::move(run));
  World* const worlds[] = {&world};
  const Scenario scenario = named("toys/one");
  std::optional<Job> job = Job{};
  job->plan.seed = 7;
  run_jobs(worlds,
           {.next = [&] { return std::exchange(job, std::nullopt); },
            .scenario_of = [&](std::size_t) -> const Scenario& { return scenario; },
            .done = [](Done&&) {}});
}

TEST(CrashNote, tells_the_run_and_the_command_that_repeats_it) {
  const auto crash = [] {
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    run_one([](const Scenario&, const Plan&) -> Outcome { std::abort(); });
  };
  EXPECT_EXIT(crash(),
              testing::ExitedWithCode(1),
              AllOf(HasSubstr("VIOLATION toys/one"),
                    HasSubstr("lastref replay toys/one --seed 7"),
                    HasSubstr(" 06")));
}

TEST(CrashNote, is_whole_if_two_threads_crash) {
  const auto crash = [] {
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    std::barrier both(2);
    const auto run_and_crash = [&both] {
      run_one([&both](const Scenario&, const Plan&) -> Outcome {
        both.arrive_and_wait();
        std::abort();
      });
    };
    std::thread other(run_and_crash);
    run_and_crash();
    other.join();
  };
  for (int each = 0; each < 20; ++each) {
    EXPECT_EXIT(crash(), testing::ExitedWithCode(1), HasSubstr("1 violation"));
  }
}

TEST(CrashNote, is_not_of_a_copy_of_the_process_which_dies_by_itself) {
  int how = 0;
  run_one([&](const Scenario&, const Plan&) {
    how = reap(start_child([] { return ::raise(SIGABRT); })).value_or(0);
    return Outcome{};
  });
  EXPECT_TRUE(WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT);
}

TEST(CrashNote, leaves_alone_what_signals_do_elsewhere) {
  run_one([](const Scenario&, const Plan&) { return Outcome{}; });
  struct sigaction now {};
  ASSERT_EQ(::sigaction(SIGABRT, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
  EXPECT_EXIT(std::abort(), testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace lastref::harness
