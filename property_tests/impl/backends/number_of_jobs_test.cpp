// number_of_jobs_test: the number of jobs, and the backend used instead when there is only one.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "property_tests/impl/backends/fixture.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref {
namespace {

using pretend::Fixture;
using pretend::must;
using pretend::must_be;
using testing::HasSubstr;
using testing::IsEmpty;

/// The kernel, except for the number of processors, the environment and standard error.
class CountedOs final : public os::KernelOs {
 public:
  CountedOs() : KernelOs({.program = this_program}) {}

  unsigned processors() noexcept override { return count; }
  std::optional<std::string> environment(const std::string& name) noexcept override {
    return has_marker && name == worker::marker ? "1" : KernelOs::environment(name);
  }
  Result<std::size_t> write(os::Fd fd, os::Bytes bytes) noexcept override {
    if (fd != os::Fd::standard_error) {
      return KernelOs::write(fd, bytes);
    }
    for (const std::byte byte : bytes) {
      said += static_cast<char>(byte);
    }
    return bytes.size();
  }
  Result<os::Child> spawn(const os::SpawnOptions& options) noexcept override {
    spawned += options.entry == worker::entry_point ? 1 : 0;
    return KernelOs::spawn(options);
  }

  unsigned count = 4;
  bool has_marker = false;
  std::string said;
  int spawned = 0;
};

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

struct CountedFixture : Fixture {
  CountedFixture() { session = Session::lead(counted); }
  ~CountedFixture() { session = {}; }

  CountedOs counted;
};

RC_GTEST_PROP(PoolJobs, follow_the_rule_for_any_number_B3, ()) {
  CountedOs os;
  os.count = *rc::gen::inRange(1U, 200U);
  const int n_jobs = *rc::gen::oneOf(rc::gen::inRange(-300, 300), rc::gen::arbitrary<int>());
  const auto jobs = pool_n_jobs(os, n_jobs);
  if (n_jobs == 0) {
    RC_ASSERT(jobs.error().code == std::errc::invalid_argument);
  } else if (n_jobs > 0) {
    RC_ASSERT(jobs.value() == static_cast<unsigned>(n_jobs));
  } else {
    const std::int64_t left = std::int64_t{os.count} + 1 + n_jobs;
    RC_ASSERT(jobs.value() == static_cast<unsigned>(std::max<std::int64_t>(left, 1)));
  }
}

TEST(PoolJobs, are_one_if_nobody_says_and_one_at_the_least_B3) {
  CountedOs os;
  EXPECT_EQ(pool_n_jobs(os, std::nullopt).value(), 1U);
  EXPECT_EQ(pool_n_jobs(os, -1).value(), 4U);
  EXPECT_EQ(pool_n_jobs(os, -4).value(), 1U);
  EXPECT_EQ(pool_n_jobs(os, -5).value(), 1U);
  EXPECT_EQ(pool_n_jobs(os, std::numeric_limits<int>::min()).value(), 1U);
}

TEST(SequentialJobs, are_one_whatever_was_asked_for_B2) {
  Fixture fixture;
  const auto backend = fixture.make(BackendKind::sequential);
  for (const std::optional<int> n_jobs :
       {std::optional<int>(), std::optional(1), std::optional(7), std::optional(-1)}) {
    EXPECT_EQ(backend->effective_n_jobs(n_jobs).value(), 1U);
    EXPECT_EQ(backend->configure({.n_jobs = n_jobs}).value().n_jobs, 1U);
    EXPECT_EQ(backend->configure({.n_jobs = n_jobs}).value().fallback, nullptr);
  }
  EXPECT_EQ(backend->effective_n_jobs(0).error().code, std::errc::invalid_argument);
}

TEST(SequentialJobs, run_at_once_in_the_caller_B2) {
  Fixture fixture;
  const auto backend = fixture.make(BackendKind::sequential);
  bool called = false;
  const FuturePtr future =
      must_be(backend->apply_async({{"pid", {}}}, [&](BatchOutcome&) { called = true; }));
  EXPECT_TRUE(called);
  EXPECT_TRUE(future->is_ready());
  EXPECT_NE(dynamic_cast<ImmediateResult*>(future.get()), nullptr);
  EXPECT_EQ(must_be(future->get()), List{fixture.os.process_id()});
}

/// Pools of one job, for every way to request one.
class OneJob : public testing::TestWithParam<BackendKind> {};
INSTANTIATE_TEST_SUITE_P(Every,
                         OneJob,
                         testing::Values(BackendKind::threads, BackendKind::processes),
                         testing::PrintToStringParamName());

TEST_P(OneJob, falls_back_to_a_sequential_backend_without_a_word_B4_B5) {
  CountedFixture fixture;
  const auto backend = fixture.make(GetParam());
  for (const std::optional<int> n_jobs :
       {std::optional<int>(), std::optional(1), std::optional(-4)}) {
    const Configured made = must(backend->configure({.n_jobs = n_jobs}));
    EXPECT_EQ(made.n_jobs, 1U);
    ASSERT_NE(made.fallback, nullptr);
    EXPECT_NE(dynamic_cast<SequentialBackend*>(made.fallback.get()), nullptr);
    EXPECT_EQ(must_be(must_be(made.fallback->apply_async({{"pid", {}}}, {}))->get()),
              List{fixture.os.process_id()});
    EXPECT_FALSE(backend->is_ready());
  }
  EXPECT_EQ(fixture.counted.said, "");
  EXPECT_EQ(fixture.counted.spawned, 0);
  EXPECT_FALSE(fixture.folder.exists("runtime"));
}

TEST_P(OneJob, is_honoured_when_an_abort_makes_it_ready_again_B8) {
  CountedFixture fixture;
  const auto backend = fixture.make(GetParam());
  EXPECT_EQ(must(backend->configure(fixture.options(-1))).n_jobs, 4U);
  fixture.counted.count = 1;
  const Configured made = must(backend->abort_everything(/*ensure_ready=*/true));
  EXPECT_EQ(made.n_jobs, 1U);
  EXPECT_NE(made.fallback, nullptr);
  EXPECT_FALSE(backend->is_ready());
}

TEST(ProcessJobs, of_one_fall_back_before_anything_else_is_looked_at_B5) {
  CountedFixture fixture;
  fixture.counted.has_marker = true;
  const auto backend = fixture.make(BackendKind::processes);
  EXPECT_NE(must(backend->configure({.n_jobs = 1})).fallback, nullptr);
  EXPECT_EQ(backend->configure({.n_jobs = 0}).error().code, std::errc::invalid_argument);
  fixture.session.in_worker = true;
  EXPECT_NE(must(fixture.make(BackendKind::processes)->configure({.n_jobs = 1})).fallback, nullptr);
  EXPECT_EQ(fixture.counted.said, "");
}

TEST(ProcessJobs, with_the_marker_set_are_an_error_that_says_how_to_guard_main_B5) {
  CountedFixture fixture;
  fixture.counted.has_marker = true;
  const auto backend = fixture.make(BackendKind::processes);
  const auto made = backend->configure(fixture.options(2));
  EXPECT_EQ(made.error().code, std::errc::operation_not_permitted);
  EXPECT_THAT(made.error().subject, HasSubstr("run_if_spawned"));
  pretend::expect_transcript(made.error().subject);
  EXPECT_EQ(fixture.counted.spawned, 0);
  EXPECT_FALSE(fixture.folder.exists("runtime"));
  fixture.counted.has_marker = false;
  EXPECT_EQ(must(backend->configure(fixture.options(2))).n_jobs, 2U);
}

TEST(ProcessJobs, of_any_thread_run_in_workers_whose_crash_fails_them_alone_B5_E13) {
  CountedFixture fixture;
  std::jthread([&] {
    const auto backend = fixture.make(BackendKind::processes);
    const Configured made = must(backend->configure(fixture.options(2)));
    EXPECT_EQ(made.n_jobs, 2U);
    ASSERT_EQ(made.fallback, nullptr);
    const auto pid = must_be(must_be(backend->apply_async({{"pid", {}}}, {}))->get());
    EXPECT_NE(pid, List{fixture.os.process_id()});
    constexpr int sigabrt = 6;  // No sanitizer handles it.
    const auto crashed = must_be(backend->apply_async({{"signal_self", {sigabrt}}}, {}));
    ASSERT_FALSE(crashed->get().has_value());
    EXPECT_EQ(std::get<TerminatedWorker>(crashed->get().error()).signal(), sigabrt);
  }).join();
  EXPECT_EQ(fixture.counted.spawned, 2);
  EXPECT_EQ(fixture.counted.said, "");
}

TEST(ProcessJobs, in_a_worker_are_one_with_one_line_of_warning_B5) {
  CountedFixture fixture;
  fixture.session.in_worker = true;
  const auto backend = fixture.make(BackendKind::processes);
  EXPECT_EQ(must(backend->configure(fixture.options(3))).n_jobs, 1U);
  EXPECT_EQ(lines_of(fixture.counted.said), 1U);
  pretend::expect_transcript(fixture.counted.said);
  EXPECT_EQ(fixture.counted.spawned, 0);
}

TEST(ProcessJobs, of_a_real_worker_are_one_B5) {
  Fixture fixture;
  const auto backend = fixture.make(BackendKind::processes);
  must(backend->configure(fixture.options(2)));
  EXPECT_EQ(must_be(must_be(backend->apply_async({{"nested", {2}}, {"in_worker", {}}}, {}))->get()),
            (List{List{1, true}, true}));
}

TEST(ProcessJobs, are_given_the_marker_as_is_the_tracker_and_nobody_else_has_it_B5) {
  Fixture fixture;
  const auto backend = fixture.make(BackendKind::processes);
  must(backend->configure(fixture.options(2)));
  EXPECT_EQ(fixture.os.environment(worker::marker), std::nullopt);
  int marked = 0;
  int unmarked = 0;
  for (const os::Pid child : pretend::children()) {
    std::string all;
    // A process that is just being executed has no environment yet.
    pretend::until([&] {
      std::ifstream file("/proc/" + std::to_string(child) + "/environ");
      all.assign(std::istreambuf_iterator<char>(file), {});
      return !all.empty();
    });
    ++(all.find(worker::marker) == std::string::npos ? unmarked : marked);
  }
  EXPECT_EQ(marked, 3);
  EXPECT_EQ(unmarked, 0);
}

TEST(ProcessJobs, execute_what_is_no_worker_B5) {
  Fixture fixture;
  const auto backend = fixture.make(BackendKind::processes);
  must(backend->configure(fixture.options(2)));
  const auto answer = [&](const std::string& script) {
    return must_be(must_be(backend->apply_async({{"shell", {script}}}, {}))->get());
  };
  EXPECT_EQ(answer(std::string("echo ${") + worker::marker + "-none}"), List{"none\n"});
  // The shell and its children have 0 to 2, and 3 is the folder that is listed.
  EXPECT_EQ(answer("ls /proc/self/fd | tr '\\n' ' '"), List{"0 1 2 3 "});
}

}  // namespace
}  // namespace lastref
