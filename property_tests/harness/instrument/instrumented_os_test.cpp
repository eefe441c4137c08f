// instrumented_os_test: every call goes through the interceptor twice and through its point once,
// and fails as its row defines.
#include "harness/instrument/instrumented_os.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/call.hpp>
#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>
#include <lastref/probe.hpp>

#include "impl/os/atomic.hpp"
#include "property_tests/harness/instrument/told_os.hpp"

namespace lastref::harness {
namespace {

/// Records the calls, and injects what the test demands.
class RecordingInterceptor final : public Interceptor {
 public:
  Injection before(const PendingCall& pending_call) noexcept override {
    befores_.push_back(pending_call.call);
    return injection;
  }
  void after(const PendingCall& pending_call, const CallResult& how) noexcept override {
    afters_.push_back(pending_call.call);
    last = how;
  }

  std::size_t passed() const { return befores_.size(); }
  void hit(Probe probe) noexcept override { probes.push_back(probe); }

  auto befores(Call call) const { return std::ranges::count(befores_, call); }
  auto afters(Call call) const { return std::ranges::count(afters_, call); }

  Injection injection;
  CallResult last;
  std::vector<Probe> probes;

 private:
  std::vector<Call> befores_;
  std::vector<Call> afters_;
};

/// Records the steps of threads.
class StepInterceptor final : public Interceptor {
 public:
  bool serialises() const noexcept override { return true; }
  void ask(ThreadStep step, std::uint64_t object) noexcept override {
    steps.emplace_back(step, object);
  }

  std::vector<std::pair<ThreadStep, std::uint64_t>> steps;
};

TEST(InstrumentedOsOfThreads, offers_the_turn_at_each_step_on_what_threads_share) {
  os::KernelOs kernel;
  StepInterceptor interceptor;
  InstrumentedOs os(kernel, interceptor);
  const std::unique_ptr<os::Monitor> first = os.make_monitor();
  const std::unique_ptr<os::Monitor> second = os.make_monitor();
  os::Atomic<int> flag(os, 0);
  const os::Atomic<int> other(os, 3);
  second->lock();
  second->notify_all();
  second->unlock();
  first->lock();
  flag.store(1);
  EXPECT_EQ(other.load(), 3);
  EXPECT_EQ(flag.fetch_add(1), 1);
  int expected = 1;
  EXPECT_FALSE(flag.change(expected, 5));
  EXPECT_EQ(expected, 2);
  first->unlock();
  const auto step = [](ThreadStep kind, std::uint64_t object) { return std::pair(kind, object); };
  EXPECT_EQ(interceptor.steps,
            (std::vector{step(ThreadStep::lock, 1),
                         step(ThreadStep::notify, 1),
                         step(ThreadStep::unlock, 1),
                         step(ThreadStep::lock, 0),
                         step(ThreadStep::store, 2),
                         step(ThreadStep::load, 3),
                         step(ThreadStep::store, 2),
                         step(ThreadStep::store, 2),
                         step(ThreadStep::unlock, 0)}));
}

/// Faults are truthful: close does close, and a name that is reported missing is missing.
bool is_made_all_the_same(Call call, int error) {
  const bool removes = call == Call::unlink || call == Call::remove_folder ||
                       call == Call::unlink_shm || call == Call::unlink_semaphore;
  return call == Call::close || (removes && error == ENOENT);
}

class InstrumentedOsTest : public testing::TestWithParam<Call> {
 protected:
  Status perform() { return pretend::make_call(os_, GetParam()); }
  auto made() const { return std::ranges::count(inner_.told, GetParam()); }

  pretend::ToldOs inner_;
  RecordingInterceptor interceptor_;
  InstrumentedOs os_{inner_, interceptor_};
};

TEST_P(InstrumentedOsTest, a_call_passes_the_interceptor_before_and_after) {
  static_cast<void>(perform());
  EXPECT_EQ(interceptor_.befores(GetParam()), 1);
  EXPECT_EQ(interceptor_.afters(GetParam()), 1);
  EXPECT_EQ(interceptor_.passed(), 1U);
  EXPECT_EQ(made(), GetParam() == Call::thread_id ? 0 : 1);
}

TEST_P(InstrumentedOsTest, its_point_is_reached_and_gives_each_errno_of_its_row) {
  for (const auto& [error, in_tracker, elsewhere] : row_of(GetParam()).errors) {
    InstrumentedOs::arm(GetParam(), error);
    const Status answer = perform();
    ASSERT_FALSE(answer);
    EXPECT_EQ(static_cast<int>(answer.error().code), error);
    EXPECT_EQ(interceptor_.last.error, error);
    // An error that the name does not exist may be true.
    EXPECT_EQ(answer.error().injected,
              !is_made_all_the_same(GetParam(), error) || GetParam() == Call::close);
    EXPECT_EQ(interceptor_.last.injected, answer.error().injected);
  }
}

TEST_P(InstrumentedOsTest,
       a_failure_by_wish_of_the_interceptor_is_made_only_where_that_is_the_truth) {
  std::ptrdiff_t truths = 0;
  for (const auto& [error, in_tracker, elsewhere] : row_of(GetParam()).errors) {
    interceptor_.injection.error = error;
    truths += is_made_all_the_same(GetParam(), error) ? 1 : 0;
    const Status answer = perform();
    ASSERT_FALSE(answer);
    EXPECT_EQ(static_cast<int>(answer.error().code), error);
  }
  EXPECT_EQ(made(), truths);
}

std::vector<Call> every_call() {
  std::vector<Call> calls;
  for (const CallRow& row : call_rows()) {
    calls.push_back(row.call);
  }
  return calls;
}

std::string name_of_test(const testing::TestParamInfo<Call>& row) {
  return std::string(name_of(row.param));
}

INSTANTIATE_TEST_SUITE_P(every_row,
                         InstrumentedOsTest,
                         testing::ValuesIn(every_call()),
                         name_of_test);

TEST(InstrumentedOsTest, a_probe_is_told_and_is_no_crossing) {
  pretend::ToldOs inner;
  RecordingInterceptor interceptor;
  InstrumentedOs os(inner, interceptor);
  os.hit(Probe::link_made_again);
  EXPECT_EQ(interceptor.probes, std::vector{Probe::link_made_again});
  EXPECT_EQ(interceptor.passed(), 0U);
}

TEST(InstrumentedOsTest, what_cannot_fail_is_told_as_it_is) {
  os::KernelOs kernel;
  RecordingInterceptor interceptor;
  InstrumentedOs os(kernel, interceptor);
  EXPECT_EQ(os.process_id(), kernel.process_id());
  EXPECT_EQ(os.user_id(), kernel.user_id());
  EXPECT_EQ(os.thread_id(), kernel.thread_id());
  EXPECT_EQ(os.processors(), kernel.processors());
  EXPECT_EQ(os.environment("PATH"), kernel.environment("PATH"));
  EXPECT_GT(os.now(), os::Instant(0));
}

TEST(InstrumentedOsTest, a_shortened_write_takes_half_of_the_bytes_but_at_least_one) {
  os::KernelOs kernel;
  RecordingInterceptor interceptor;
  InstrumentedOs os(kernel, interceptor);
  interceptor.injection.shorten = true;
  const auto pipe = kernel.make_pipe();
  ASSERT_TRUE(pipe);
  std::array<std::byte, 9> bytes{};
  EXPECT_EQ(os.write(pipe->write, bytes), std::size_t{4});
  EXPECT_EQ(os.read(pipe->read, std::span(bytes).first(5)), std::size_t{2});
  EXPECT_EQ(os.read(pipe->read, std::span(bytes).first(1)), std::size_t{1});
  EXPECT_TRUE(kernel.close(pipe->read));
  EXPECT_TRUE(kernel.close(pipe->write));
}

TEST(InstrumentedOsTest, what_is_at_an_offset_is_shortened_there) {
  os::KernelOs kernel;
  RecordingInterceptor interceptor;
  InstrumentedOs os(kernel, interceptor);
  const std::string path = testing::TempDir() + "instrumented_os_test_offsets";
  const auto file = kernel.open(path, {.write = true, .create = true});
  ASSERT_TRUE(file);
  EXPECT_TRUE(kernel.unlink(path));
  EXPECT_TRUE(kernel.write(*file, os::bytes_of("0123456789")));
  std::array<std::byte, 5> bytes{};
  EXPECT_EQ(os.read_at(*file, bytes, 4), std::size_t{5});
  EXPECT_EQ(bytes[0], std::byte{'4'});
  interceptor.injection.shorten = true;
  EXPECT_EQ(os.read_at(*file, bytes, 7), std::size_t{2});
  EXPECT_EQ(bytes[0], std::byte{'7'});
  EXPECT_EQ(bytes[2], std::byte{'6'});
  EXPECT_EQ(os.read_at(*file, std::span(bytes).first(1), 0), std::size_t{1});
  EXPECT_TRUE(kernel.close(*file));
}

TEST(InstrumentedOsTest, actions_for_the_end_run_when_it_is_told_of_the_end) {
  os::KernelOs kernel;
  RecordingInterceptor interceptor;
  InstrumentedOs os(kernel, interceptor);
  std::string said;
  const auto first = os.at_exit([&] { said += "first "; });
  auto taken_back = os.at_exit([&] { said += "taken back "; });
  std::unique_ptr<os::ExitHook> late;
  const auto last = os.at_exit([&] {
    said += "last ";
    late = os.at_exit([&] { said += "late "; });
    taken_back.reset();
  });
  EXPECT_EQ(said, "");
  os.run_exit_hooks();
  EXPECT_EQ(said, "last late first ");
  // No row: the interceptor was not called.
  EXPECT_EQ(interceptor.befores(Call::process_id), 0);
}

}  // namespace
}  // namespace lastref::harness
