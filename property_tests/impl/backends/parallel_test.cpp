// parallel_test: calls of a Parallel, their order, their laziness, and how one affects the next.
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "property_tests/impl/backends/fixture.hpp"

namespace lastref {
namespace {

using pretend::code_of;
using pretend::Fixture;
using pretend::must_be;
using pretend::until;

/// Squares of the numbers below `count`.
TaskSource squares(std::int64_t count) {
  return [count, at = std::int64_t{0}]() mutable -> std::optional<Task> {
    return at < count ? std::optional(Task{"square", {at++}}) : std::nullopt;
  };
}
List squared(std::int64_t count) {
  List list;
  for (std::int64_t at = 0; at < count; ++at) {
    list.emplace_back(at * at);
  }
  return list;
}

std::optional<std::size_t> maybe(std::size_t below) {
  const std::size_t size = *rc::gen::inRange<std::size_t>(0, below);
  return size == 0 ? std::nullopt : std::optional(size);
}

RC_GTEST_PROP(ParallelProperties, results_are_in_the_order_of_the_tasks_B10, ()) {
  Fixture fixture;
  const auto kind = *rc::gen::weightedElement<BackendKind>(
      {{1, BackendKind::processes}, {4, BackendKind::threads}, {2, BackendKind::sequential}});
  ParallelOptions options = fixture.parallel(kind, *rc::gen::inRange(1, 4));
  options.batch_size = maybe(8);
  options.pre_dispatch = maybe(5);
  Parallel parallel(fixture.session, fixture.functions, options);
  for (int calls = *rc::gen::inRange(1, 4); calls > 0; --calls) {
    const auto count = *rc::gen::inRange<std::int64_t>(0, 120);
    RC_ASSERT(Value(must_be(parallel.run(squares(count)))) == Value(squared(count)));
  }
}

/// What the tasks see of a buffer that their source refills for each.
List sums_of_refilled_buffer(BackendKind kind, std::size_t size, bool invalidates) {
  Fixture fixture;
  ParallelOptions options = fixture.parallel(kind, 2);
  options.batch_size = 1;
  options.pre_dispatch = 1;
  Parallel parallel(fixture.session, fixture.functions, options);
  const Array buffer = pretend::array_of(size, 0);
  std::byte next{1};
  return must_be(parallel.run([&]() -> std::optional<Task> {
    if (next == std::byte{4}) {
      return std::nullopt;
    }
    std::fill_n(pretend::must(buffer.mutable_data()), size, next);
    if (invalidates) {
      pretend::must(parallel.invalidate(buffer));
    }
    next = static_cast<std::byte>(std::to_integer<int>(next) + 1);
    return Task{"sum", {buffer}};
  }));
}

TEST(RefilledBuffer, arrives_as_it_is_after_invalidate_R4_B10) {
  constexpr auto large = static_cast<std::int64_t>(4 * pretend::small_nbytes);
  EXPECT_EQ(sums_of_refilled_buffer(BackendKind::processes, large, /*invalidates=*/true),
            (List{large, 2 * large, 3 * large}));
  EXPECT_EQ(sums_of_refilled_buffer(BackendKind::sequential, large, /*invalidates=*/true),
            (List{large, 2 * large, 3 * large}));
  EXPECT_EQ(sums_of_refilled_buffer(BackendKind::processes, 10, /*invalidates=*/false),
            (List{10, 20, 30}));
}

RC_GTEST_PROP(ParallelProperties, a_source_is_never_further_ahead_than_allowed_B10, ()) {
  Fixture fixture;
  ParallelOptions options =
      fixture.parallel(*rc::gen::element(BackendKind::threads, BackendKind::sequential), 3);
  const std::size_t jobs = options.backend == BackendKind::sequential ? 1 : 3;
  options.batch_size = *rc::gen::inRange<std::size_t>(1, 6);
  options.pre_dispatch = *rc::gen::inRange<std::size_t>(1, 4);
  std::atomic<std::size_t> completed = 0;
  const auto functions = std::make_shared<Functions>();
  pretend::must(
      functions->add("count", [&](const TaskContext&, std::span<const Value>) -> Result<Value> {
        ++completed;
        return Value();
      }));
  const std::size_t allowed = *options.batch_size * *options.pre_dispatch * jobs;
  std::size_t asked = 0;
  std::size_t most = 0;
  Parallel parallel(fixture.session, functions, options);
  must_be(parallel.run([&]() -> std::optional<Task> {
    most = std::max(most, ++asked - completed);
    return asked <= 100 ? std::optional(Task{"count"}) : std::nullopt;
  }));
  RC_ASSERT(most <= allowed + 1);
}

class ParallelTest : public testing::TestWithParam<BackendKind> {
 protected:
  Parallel make(ParallelOptions options) { return {fixture.session, fixture.functions, options}; }
  ParallelOptions options(int n_jobs = 2) { return fixture.parallel(GetParam(), n_jobs); }
  bool is_pool() const { return GetParam() != BackendKind::sequential; }

  Fixture fixture;
};
INSTANTIATE_TEST_SUITE_P(Every,
                         ParallelTest,
                         testing::Values(BackendKind::sequential,
                                         BackendKind::threads,
                                         BackendKind::processes),
                         testing::PrintToStringParamName());

TEST_P(ParallelTest, a_source_is_asked_no_more_than_allowed_while_nothing_is_done_B10) {
  if (!is_pool()) {
    return;
  }
  ParallelOptions wanted = options();
  wanted.batch_size = 3;
  wanted.pre_dispatch = 2;
  std::atomic<int> asked = 0;
  Parallel parallel(fixture.session, fixture.functions, wanted);
  std::optional<Outcome<List>> outcome;
  std::jthread caller([&] {
    // In workers the marks of a task are files, and their completion is not counted here.
    if (GetParam() == BackendKind::threads) {
      outcome = parallel.run([&]() -> std::optional<Task> {
        return ++asked <= 40 ? std::optional(Task{"wait_for", {fixture.mark("go")}}) : std::nullopt;
      });
    }
  });
  if (GetParam() == BackendKind::threads) {
    until([&] { return asked >= 12; });
    EXPECT_EQ(asked, 12);
  }
  fixture.make_mark("go");
  caller.join();
  if (GetParam() == BackendKind::threads) {
    EXPECT_EQ(must_be(*outcome).size(), 40U);
  }
}

TEST_P(ParallelTest, the_first_failure_is_the_outcome_and_aborts_the_rest_B10) {
  ParallelOptions wanted = options();
  wanted.batch_size = 1;
  int asked = 0;
  Parallel parallel(fixture.session, fixture.functions, wanted);
  const auto outcome = parallel.run([&]() -> std::optional<Task> {
    return ++asked == 5 ? Task{"refuse", {"five"}} : Task{"square", {1}};
  });
  EXPECT_EQ(code_of(outcome), std::errc::no_space_on_device);
  EXPECT_EQ(must_be(parallel.run(squares(30))), squared(30));
}

TEST_P(ParallelTest, a_source_that_throws_is_the_failure_B10) {
  Parallel parallel(fixture.session, fixture.functions, options());
  int asked = 0;
  const auto outcome = parallel.run([&]() -> std::optional<Task> {
    if (++asked == 4) {
      throw std::logic_error("no more");
    }
    return Task{"square", {2}};
  });
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(std::get<TransportableException>(outcome.error()),
            (TransportableException{
                .type = "std::logic_error", .message = "no more", .where = "the source of tasks"}));
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(must_be(parallel.run(squares(30))), squared(30));
}

TEST_P(ParallelTest, an_abort_is_the_failure_and_the_next_call_begins_clean_B10) {
  ParallelOptions wanted = options();
  Parallel* running = nullptr;
  wanted.progress = [&](const CallProgress& progress) {
    if (progress.completed >= 10 && running != nullptr) {
      running->abort();
    }
  };
  wanted.batch_size = 1;
  Parallel parallel(fixture.session, fixture.functions, wanted);
  parallel.abort();  // Nothing is running.
  running = &parallel;
  const auto outcome = parallel.run([]() { return std::optional(Task{"square", {1}}); });
  EXPECT_EQ(code_of(outcome), std::errc::operation_canceled);
  running = nullptr;
  EXPECT_EQ(must_be(parallel.run(squares(30))), squared(30));
}

TEST_P(ParallelTest, wrong_options_are_told_and_the_source_is_not_asked_B10) {
  const auto code = [&](ParallelOptions wanted) {
    return code_of(Parallel(fixture.session, fixture.functions, wanted).run([&]() {
      ADD_FAILURE() << "was asked";
      return std::optional<Task>();
    }));
  };
  EXPECT_EQ(code(options(0)), std::errc::invalid_argument);
  ParallelOptions wanted = options();
  wanted.batch_size = 0;
  EXPECT_EQ(code(wanted), std::errc::invalid_argument);
  wanted = options();
  wanted.pre_dispatch = 0;
  EXPECT_EQ(code(wanted), std::errc::invalid_argument);
}

TEST_P(ParallelTest, the_largest_options_mean_all_there_are_B10) {
  for (const std::size_t most : {SIZE_MAX, SIZE_MAX / 2 + 1}) {
    ParallelOptions wanted = options();
    wanted.pre_dispatch = most;
    EXPECT_EQ(must_be(Parallel(fixture.session, fixture.functions, wanted).run(squares(20))),
              squared(20));
    wanted.batch_size = most;
    EXPECT_EQ(must_be(Parallel(fixture.session, fixture.functions, wanted).run(squares(20))),
              squared(20));
  }
}

TEST_P(ParallelTest, progress_is_told_once_a_batch_by_one_thread_and_never_goes_back_B10) {
  ParallelOptions wanted = options(3);
  wanted.batch_size = 2;
  std::atomic<int> inside = 0;
  std::atomic<bool> is_running = true;
  std::vector<std::size_t> told;
  wanted.progress = [&](const CallProgress& progress) {
    EXPECT_EQ(++inside, 1);
    EXPECT_TRUE(is_running);
    EXPECT_GE(progress.dispatched, progress.completed);
    told.push_back(progress.completed);
    std::this_thread::yield();
    --inside;
  };
  Parallel parallel(fixture.session, fixture.functions, wanted);
  for (int calls = 0; calls < 20; ++calls) {
    told.clear();
    is_running = true;
    must_be(parallel.run(squares(41)));
    is_running = false;
    ASSERT_EQ(told.size(), 21U);
    EXPECT_TRUE(std::ranges::is_sorted(told));
    EXPECT_EQ(told.back(), 41U);
    EXPECT_EQ(std::ranges::adjacent_find(told), told.end());
  }
}

TEST_P(ParallelTest, verbose_ones_tell_how_far_they_are_at_twice_as_many_each_time_B10) {
  for (const int verbose : {0, 1}) {
    ParallelOptions wanted = options();
    wanted.batch_size = 1;
    wanted.verbose = verbose;
    testing::internal::CaptureStderr();
    must_be(make(wanted).run(squares(9)));
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              verbose == 0 ? ""
                           : "lastref: 1 tasks are done\nlastref: 2 tasks are done\n"
                             "lastref: 4 tasks are done\nlastref: 8 tasks are done\n");
  }
}

TEST_P(ParallelTest, a_call_in_a_call_is_refused_B10) {
  Parallel parallel(fixture.session, fixture.functions, options());
  int asked = 0;
  const auto outcome = parallel.run([&]() -> std::optional<Task> {
    EXPECT_EQ(code_of(parallel.run(squares(1))), std::errc::device_or_resource_busy);
    return ++asked <= 3 ? std::optional(Task{"square", {2}}) : std::nullopt;
  });
  EXPECT_EQ(must_be(outcome), (List{4, 4, 4}));
}

TEST_P(ParallelTest, a_call_beside_a_call_is_refused_and_does_no_harm_B10) {
  Parallel parallel(fixture.session, fixture.functions, options());
  std::atomic<bool> began = false;
  std::jthread other([&] {
    until([&] { return began.load(); });
    EXPECT_EQ(code_of(parallel.run(squares(3))), std::errc::device_or_resource_busy);
    fixture.make_mark("refused");
  });
  int asked = 0;
  const auto outcome = parallel.run([&]() -> std::optional<Task> {
    began = true;
    fixture.wait_for_mark("refused");
    return ++asked <= 3 ? std::optional(Task{"square", {2}}) : std::nullopt;
  });
  EXPECT_EQ(must_be(outcome), (List{4, 4, 4}));
}

TEST_P(ParallelTest, no_tasks_have_no_results_B10) {
  Parallel parallel(fixture.session, fixture.functions, options());
  EXPECT_EQ(must_be(parallel.run(std::vector<Task>())), List());
  EXPECT_EQ(must_be(parallel.run({{"square", {3}}})), List{9});
}

TEST_P(ParallelTest, a_hundred_thousand_tiny_tasks_are_done_B10) {
  ParallelOptions wanted = options();
  if (GetParam() == BackendKind::threads) {
    wanted.batch_size = 100;
  }
  Parallel parallel(fixture.session, fixture.functions, wanted);
  constexpr std::int64_t count = 100'000;
  EXPECT_TRUE(must_be(parallel.run(squares(count))) == squared(count));
}

TEST_P(ParallelTest, a_source_is_not_asked_again_after_its_end_B10) {
  ParallelOptions wanted = options();
  bool ended = false;
  Parallel parallel(fixture.session, fixture.functions, wanted);
  int asked = 0;
  must_be(parallel.run([&]() -> std::optional<Task> {
    EXPECT_FALSE(ended);
    ended = ++asked > 20;
    return ended ? std::nullopt : std::optional(Task{"square", {1}});
  }));
}

TEST(Parallels, in_two_threads_do_not_meet_B10) {
  Fixture fixture;
  std::vector<std::jthread> threads;
  for (int number = 0; number < 2; ++number) {
    threads.emplace_back([&] {
      Parallel parallel(
          fixture.session, fixture.functions, fixture.parallel(BackendKind::threads, 2));
      for (int calls = 0; calls < 20; ++calls) {
        EXPECT_EQ(must_be(parallel.run(squares(50))), squared(50));
      }
    });
  }
}

/// Records the calls that it gets.
class Noting final : public ParallelBackend {
 public:
  Noting(Session session, std::shared_ptr<const Functions> functions)
      : inner_(std::move(session), std::move(functions)) {}

  Result<unsigned> effective_n_jobs(std::optional<int>) override { return 1U; }
  Result<Configured> configure(const BackendOptions& options) override {
    ++configured;
    return inner_.configure(options);
  }
  Outcome<FuturePtr> apply_async(Batch batch, Callback callback) override {
    ++sent;
    return inner_.apply_async(std::move(batch), std::move(callback));
  }
  std::size_t compute_batch_size() override {
    ++sizes;
    return 4;
  }
  void batch_completed(std::size_t size, std::chrono::nanoseconds) override { tasks += size; }
  Result<Configured> abort_everything(bool ensure_ready) override {
    aborts += ensure_ready ? 0 : 1;
    return Configured{};
  }
  Status start_call() override {
    ++begun;
    return ok();
  }
  Status stop_call() override {
    ++ended;
    return ok();
  }

  int configured = 0;
  int sent = 0;
  int sizes = 0;
  int aborts = 0;
  int begun = 0;
  int ended = 0;
  std::size_t tasks = 0;

 private:
  SequentialBackend inner_;
};

TEST(Parallels, ask_a_backend_for_a_size_only_if_they_have_none_B6_B10) {
  Fixture fixture;
  const auto backend = std::make_shared<Noting>(fixture.session, fixture.functions);
  Parallel fixed(fixture.session, backend, {.batch_size = 5});
  must_be(fixed.run(squares(20)));
  EXPECT_EQ(backend->sizes, 0);
  EXPECT_EQ(backend->sent, 4);
  EXPECT_EQ(backend->tasks, 20U);
  Parallel automatic(fixture.session, backend, {});
  must_be(automatic.run(squares(20)));
  EXPECT_GE(backend->sizes, 5);
  EXPECT_EQ(backend->sent, 9);
}

TEST(Parallels, send_nothing_after_a_source_has_failed_B10) {
  Fixture fixture;
  const auto backend = std::make_shared<Noting>(fixture.session, fixture.functions);
  Parallel parallel(fixture.session, backend, {.batch_size = 5});
  int asked = 0;
  const auto outcome = parallel.run([&]() -> std::optional<Task> {
    if (++asked == 8) {
      throw Interrupt();
    }
    return Task{"square", {1}};
  });
  ASSERT_FALSE(outcome.has_value());
  EXPECT_TRUE(std::holds_alternative<WorkerInterrupt>(outcome.error()));
  EXPECT_EQ(backend->sent, 1);
}

TEST(Parallels, report_the_first_of_two_failures_B10) {
  Fixture fixture;
  const auto backend = std::make_shared<Noting>(fixture.session, fixture.functions);
  Parallel parallel(fixture.session, backend, {});
  const auto outcome = parallel.run([&]() -> std::optional<Task> {
    parallel.abort();
    throw Interrupt();
  });
  EXPECT_EQ(code_of(outcome), std::errc::operation_canceled);
}

TEST(Parallels, configure_once_and_begin_and_end_each_call_B10) {
  Fixture fixture;
  const auto backend = std::make_shared<Noting>(fixture.session, fixture.functions);
  Parallel parallel(fixture.session, backend, {});
  must_be(parallel.run(squares(3)));
  must_be(parallel.run(squares(3)));
  EXPECT_EQ(backend->aborts, 0);
  EXPECT_FALSE(parallel.run({{"refuse", {""}}}).has_value());
  EXPECT_EQ(backend->aborts, 1);
  EXPECT_EQ(backend->configured, 1);
  EXPECT_EQ(backend->begun, 3);
  EXPECT_EQ(backend->ended, 3);
}

}  // namespace
}  // namespace lastref
