// deaths_test: workers that die, hang or are killed cost only the task that they were running.

#include <lastref/kernel_os.hpp>

#include "property_tests/impl/pool/pool_fixture.hpp"

namespace lastref {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::MatchesRegex;

constexpr int sigkill = 9;

class DyingWorkers : public pretend::PoolFixture {};

int dies_at_two(int number) {
  if (number == 2) {
    pretend::send_signal(os::KernelOs().process_id(), sigkill);
  }
  return number;
}
int exits_at_two(int number) {
  if (number == 2) {
    pretend::leave(3);
  }
  return number;
}
int hangs_at_two(int number) {
  if (number == 2) {
    pretend::hang();
  }
  return number;
}
/// Makes the folder NAME.begun, and returns when NAME.end exists.
int waits_for_end(const std::string& name) {
  os::KernelOs os;
  static_cast<void>(os.make_folder(name + ".begun", 0700));
  pretend::until([&] { return os.status_at(name + ".end").has_value(); });
  return 7;
}
/// Dies until there is a mark.
int dies_once(const std::string& mark) {
  os::KernelOs os;
  if (os.make_folder(mark, 0700)) {
    pretend::send_signal(os::KernelOs().process_id(), sigkill);
  }
  return 7;
}
/// Counts its calls, as folders, and dies with the fifth element.
int counts(const std::string& folder, int number) {
  os::KernelOs os;
  const std::string name = folder + "/" + std::to_string(number);
  for (int call = 1; !os.make_folder(name + "." + std::to_string(call), 0700); ++call) {
  }
  if (number == 5) {
    pretend::send_signal(os::KernelOs().process_id(), sigkill);
  }
  return number;
}

std::vector<int> up_to(int count) {
  std::vector<int> numbers;
  for (int each = 0; each < count; ++each) {
    numbers.push_back(each);
  }
  return numbers;
}

template <auto f>
std::vector<Error> errors_of(Pool& pool, TaskOptions options) {
  std::vector<Error> errors;
  std::size_t good = 0;
  for (const auto& done : pool.as_completed<f>(up_to(100), options)) {
    if (done.result) {
      EXPECT_EQ(static_cast<std::size_t>(*done.result), done.index);
      ++good;
    } else {
      EXPECT_EQ(done.index, 2U);
      EXPECT_EQ(done.attempts, options.retries + 1);
      errors.push_back(done.result.error());
    }
  }
  EXPECT_EQ(good, 99U);
  return errors;
}

TEST_F(DyingWorkers, cost_only_their_task_and_are_replaced_L3) {
  const auto errors = errors_of<dies_at_two>(two_workers(), {});
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].code, std::errc::owner_dead);
  EXPECT_THAT(errors[0].what(),
              MatchesRegex("task 2, .*dies_at_two, worker [0-9]+: killed by SIGKILL"));
}

TEST_F(DyingWorkers, that_exit_are_reported_with_their_code_L3) {
  const auto errors = errors_of<exits_at_two>(two_workers(), {});
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_THAT(errors[0].what(),
              MatchesRegex("task 2, .*exits_at_two, worker [0-9]+: exited with code 3"));
}

TEST_F(DyingWorkers, are_those_of_tasks_that_exceed_their_timeout_L4) {
  const auto errors = errors_of<hangs_at_two>(two_workers(), {.timeout = milliseconds(300)});
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].code, std::errc::stream_timeout);
  EXPECT_THAT(errors[0].what(), HasSubstr("no result within 300 ms"));
}

TEST_F(DyingWorkers, are_not_those_of_other_tasks_at_a_timeout_L4) {
  auto other = two_workers().submit<waits_for_end>(folder.path("other"));
  pretend::until([&] { return folder.exists("other.begun"); });
  for (const auto& done : pool->as_completed<hangs_at_two>(
           std::vector{2}, {.timeout = std::chrono::microseconds(50)})) {
    EXPECT_TRUE(failed_with(done.result, std::errc::stream_timeout));
    EXPECT_THAT(done.result.error().what(), HasSubstr("no result within 50000 ns"));
  }
  folder.make_folder("other.end");
  EXPECT_EQ(other.get().value(), 7);
  folder.remove("other.begun");
  folder.remove("other.end");
}

TEST_F(DyingWorkers, die_again_in_each_attempt_of_their_task_L5) {
  const auto errors = errors_of<dies_at_two>(two_workers(), {.retries = 2});
  EXPECT_EQ(errors.size(), 1U);
}

TEST_F(DyingWorkers, do_not_matter_if_a_later_attempt_succeeds_L5) {
  const std::string mark = folder.path("mark");
  for (const auto& done :
       two_workers().as_completed<dies_once>(std::vector{mark}, {.retries = 1})) {
    EXPECT_EQ(done.result.value(), 7);
    EXPECT_EQ(done.attempts, 2);
  }
  folder.remove("mark");
}

TEST_F(DyingWorkers, make_no_task_run_twice_L5) {
  folder.make_folder("calls");
  int good = 0;
  for (const auto& done : two_workers().as_completed<counts>(folder.path("calls"), up_to(200))) {
    good += done.result ? 1 : 0;
  }
  EXPECT_EQ(good, 199);
  std::size_t calls = 0;
  for (const auto& each : std::filesystem::directory_iterator(folder.path("calls"))) {
    EXPECT_TRUE(each.path().string().ends_with(".1"));
    ++calls;
  }
  EXPECT_EQ(calls, 200U);
  std::filesystem::remove_all(folder.path("calls"));
}

TEST_F(DyingWorkers, that_are_killed_while_idle_are_replaced_L3) {
  const auto process = [](int) { return os::KernelOs().process_id(); };
  const os::Pid worker = with({.workers = 1}).map<process>(std::vector{1}).value()[0];
  pretend::send_signal(worker, sigkill);
  pretend::wait_until_dead(worker);
  // The pool may not have seen the death yet; then the task is sent to the dead worker.
  for (const auto& done : pool->as_completed<process>(std::vector{1}, {.retries = 1})) {
    EXPECT_NE(done.result.value(), worker);
  }
}

}  // namespace
}  // namespace lastref
