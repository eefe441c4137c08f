// user_code_test: a source, a progress, a callback or a task that blocks or throws.
//
// If such code waits for something that only the pool can do, a pool that it blocks would make it
// wait indefinitely. A callback can postpone work that takes time.
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/backends/fixture.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref {
namespace {

using pretend::belongings;
using pretend::code_of;
using pretend::Fixture;
using pretend::must;
using pretend::must_be;
using pretend::until;

constexpr int sigkill = 9;
constexpr const char* no_threads = "LASTREF_TEST_WORKERS_HAVE_NO_THREADS";

/// Its what() returns a null pointer.
class Silent final : public std::exception {
 public:
  const char* what() const noexcept override { return nullptr; }
};

/// An attempt to copy it throws again.
class Uncopied final : public std::runtime_error {
 public:
  Uncopied() : std::runtime_error("not copied") {}
  Uncopied(const Uncopied& other) : std::runtime_error(other) { throw std::logic_error("a copy"); }
  Uncopied& operator=(const Uncopied&) = delete;
  ~Uncopied() override = default;
};

class UserCode : public testing::TestWithParam<BackendKind> {
 protected:
  bool has_pool() const { return GetParam() != BackendKind::sequential; }
  ParallelOptions options() const {
    ParallelOptions wanted = fixture.parallel(GetParam(), 2);
    wanted.batch_size = 1;
    return wanted;
  }
  static std::vector<Task> squares(int count) {
    return {static_cast<std::size_t>(count), Task{"square", {3}}};
  }
  static std::string type_of(const Outcome<List>& outcome) {
    const auto* thrown = outcome ? nullptr : std::get_if<TransportableException>(&outcome.error());
    return thrown == nullptr ? "" : thrown->type;
  }

  Fixture fixture;
};

INSTANTIATE_TEST_SUITE_P(Every,
                         UserCode,
                         testing::Values(BackendKind::sequential,
                                         BackendKind::threads,
                                         BackendKind::processes),
                         testing::PrintToStringParamName());

TEST_P(UserCode, a_source_may_wait_for_an_earlier_result_E13) {
  constexpr int most = 12;
  std::atomic<int> completed = 0;
  ParallelOptions wanted = options();
  wanted.progress = [&](const CallProgress& progress) {
    completed = static_cast<int>(progress.completed);
  };
  Parallel parallel(fixture.session, fixture.functions, wanted);
  int asked = 0;
  const auto outcome = parallel.run([&]() -> std::optional<Task> {
    // The first calls fill the queue; each later call comes after a result was reported.
    until([&] { return asked <= 4 || completed >= asked; });
    return asked++ < most ? std::optional(Task{"square", {3}}) : std::nullopt;
  });
  EXPECT_EQ(must_be(outcome), List(most, Value(9)));
}

TEST_P(UserCode, progress_that_waits_keeps_no_results_waiting_E13) {
  if (!has_pool()) {
    return;
  }
  ParallelOptions wanted = options();
  std::atomic<bool> is_first = true;
  wanted.progress = [&](const CallProgress&) {
    if (is_first.exchange(false)) {
      until([&] { return fixture.has_mark("last"); });
    }
  };
  Parallel parallel(fixture.session, fixture.functions, wanted);
  std::vector<Task> tasks = squares(20);
  tasks.push_back({"mark", {fixture.mark("last")}});
  EXPECT_EQ(must_be(parallel.run(tasks)).size(), 21U);
}

TEST_P(UserCode, progress_that_throws_fails_its_call_and_no_other_E13) {
  for (const int kind : {0, 1, 2, 3}) {
    std::atomic<bool> throws = true;
    ParallelOptions wanted = options();
    wanted.progress = [&](const CallProgress&) {
      if (throws) {
        switch (kind) {
          case 0:
            throw std::out_of_range("far");
          case 1:
            throw 42;
          case 2:
            throw Silent();
          default:
            throw Uncopied();
        }
      }
    };
    Parallel parallel(fixture.session, fixture.functions, wanted);
    const auto outcome = parallel.run(squares(6));
    ASSERT_FALSE(outcome.has_value());
    const auto* thrown = std::get_if<TransportableException>(&outcome.error());
    ASSERT_NE(thrown, nullptr) << describe(outcome.error());
    EXPECT_THAT(thrown->where, testing::HasSubstr("progress"));
    throws = false;
    EXPECT_EQ(must_be(parallel.run(squares(6))), List(6, Value(9)));
  }
}

TEST_P(UserCode, a_source_that_throws_without_a_word_fails_its_call_alone_E13) {
  Parallel parallel(fixture.session, fixture.functions, options());
  int asked = 0;
  const auto source = [&]() -> std::optional<Task> {
    if (++asked == 6) {
      throw Silent();
    }
    return Task{"square", {3}};
  };
  EXPECT_THAT(type_of(parallel.run(source)), testing::HasSubstr("Silent"));
  EXPECT_EQ(must_be(parallel.run(squares(6))), List(6, Value(9)));
}

TEST_P(UserCode, a_source_without_memory_fails_its_call_alone_E10_E13) {
  Parallel parallel(fixture.session, fixture.functions, options());
  int asked = 0;
  const auto source = [&]() -> std::optional<Task> {
    if (++asked == 6) {
      throw std::bad_alloc();
    }
    return Task{"square", {3}};
  };
  EXPECT_EQ(code_of(parallel.run(source)), std::errc::not_enough_memory);
  EXPECT_EQ(must_be(parallel.run(squares(6))), List(6, Value(9)));
}

TEST_P(UserCode, a_task_that_throws_without_a_word_fails_its_call_alone_E13) {
  Parallel parallel(fixture.session, fixture.functions, options());
  EXPECT_THAT(type_of(parallel.run({{"square", {3}}, {"throw_silent", {}}})),
              testing::HasSubstr("Silent"));
  EXPECT_EQ(code_of(parallel.run({{"square", {3}}, {"throw_no_memory", {}}})),
            std::errc::not_enough_memory);
  EXPECT_EQ(must_be(parallel.run(squares(6))), List(6, Value(9)));
}

TEST_P(UserCode, a_callback_that_throws_fails_its_batch_alone_E13) {
  const auto backend = fixture.make(GetParam());
  must(backend->configure(fixture.options(2)));
  for (const bool is_silent : {true, false}) {
    const FuturePtr bad =
        must_be(backend->apply_async({{"square", {3}}}, [&](BatchOutcome&) -> void {
          if (is_silent) {
            throw Silent();
          }
          throw 42;
        }));
    ASSERT_FALSE(bad->get().has_value());
    EXPECT_EQ(std::get<TransportableException>(bad->get().error()).where, "a callback");
    EXPECT_EQ(must_be(must_be(backend->apply_async({{"square", {3}}}, {}))->get()), List{9});
  }
}

TEST_P(UserCode, an_abort_counts_from_the_moment_that_run_was_called_E13) {
  /// configure is slow: long enough for an abort.
  class Slow final : public ParallelBackend {
   public:
    explicit Slow(std::shared_ptr<ParallelBackend> inner) : inner_(std::move(inner)) {}
    Result<unsigned> effective_n_jobs(std::optional<int> n_jobs) override {
      return inner_->effective_n_jobs(n_jobs);
    }
    Result<Configured> configure(const BackendOptions& options) override {
      if (parallel != nullptr) {
        parallel->abort();
      }
      return inner_->configure(options);
    }
    Outcome<FuturePtr> apply_async(Batch batch, Callback callback) override {
      return inner_->apply_async(std::move(batch), std::move(callback));
    }
    bool is_ready() const override { return inner_->is_ready(); }
    Status terminate() override { return inner_->terminate(); }
    Result<Configured> abort_everything(bool ensure_ready) override {
      return inner_->abort_everything(ensure_ready);
    }
    Status start_call() override { return inner_->start_call(); }
    Status stop_call() override { return inner_->stop_call(); }

    Parallel* parallel = nullptr;

   private:
    std::shared_ptr<ParallelBackend> inner_;
  };
  const auto slow = std::make_shared<Slow>(fixture.make(GetParam()));
  Parallel parallel(fixture.session, slow, options());
  slow->parallel = &parallel;
  EXPECT_EQ(code_of(parallel.run(squares(6))), std::errc::operation_canceled);
  slow->parallel = nullptr;
  EXPECT_EQ(must_be(parallel.run(squares(6))), List(6, Value(9)));
}

class Served : public testing::Test {
 protected:
  std::set<os::Pid> workers() {
    std::set<os::Pid> all = pretend::children();
    for (const os::Pid other : before) {
      all.erase(other);
    }
    return all;
  }
  ParallelOptions options() const {
    ParallelOptions wanted = fixture.parallel(BackendKind::processes, 2);
    wanted.batch_size = 1;
    return wanted;
  }
  void configure() { must(backend->configure(fixture.options(2))); }
  FuturePtr send(Task task, Callback callback = {}) {
    return must_be(backend->apply_async({std::move(task)}, std::move(callback)));
  }

  Fixture fixture;
  std::string tree = must(fixture.session.tree());  // Its tracker is started before the workers.
  std::set<os::Pid> before = pretend::children();
  std::shared_ptr<ParallelBackend> backend = fixture.make(BackendKind::processes);
};

TEST_F(Served, is_a_death_while_a_source_waits_E13_B9) {
  Parallel parallel(fixture.session, fixture.functions, options());
  int asked = 0;
  const auto outcome = parallel.run([&]() -> std::optional<Task> {
    if (++asked == 7) {
      pretend::send_signal(*workers().begin(), sigkill);
      until([&] { return workers().empty(); });
    }
    return Task{"square", {3}};
  });
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(std::get<TerminatedWorker>(outcome.error()).signal(), sigkill);
}

TEST_F(Served, is_an_abort_while_a_source_waits_E13) {
  Parallel parallel(fixture.session, fixture.functions, options());
  int asked = 0;
  const auto outcome = parallel.run([&]() -> std::optional<Task> {
    if (++asked == 7) {
      std::jthread([&] { parallel.abort(); }).join();
      until([&] { return workers().empty(); });
    }
    return Task{"square", {3}};
  });
  EXPECT_EQ(code_of(outcome), std::errc::operation_canceled);
  EXPECT_EQ(must_be(parallel.run({{"square", {3}}})), List{9});
}

TEST_F(Served, is_an_abort_while_progress_waits_E13) {
  ParallelOptions wanted = options();
  Parallel* running = nullptr;
  std::atomic<bool> is_first = true;
  wanted.progress = [&](const CallProgress&) {
    if (is_first.exchange(false)) {
      running->abort();
      until([&] { return workers().empty(); });
    }
  };
  Parallel parallel(fixture.session, fixture.functions, wanted);
  running = &parallel;
  EXPECT_EQ(code_of(parallel.run(std::vector<Task>(9, Task{"square", {3}}))),
            std::errc::operation_canceled);
  EXPECT_EQ(must_be(parallel.run({{"square", {3}}})), List{9});
}

TEST_F(Served, are_other_batches_and_deaths_while_a_callback_waits_E13_B9) {
  configure();
  FuturePtr second;
  FuturePtr third;
  const FuturePtr first = send({"wait_for", {fixture.mark("sent")}}, [&](BatchOutcome&) {
    fixture.make_mark("called");
    until([&] { return second->is_ready() && second->get().has_value(); });
    pretend::send_signal(*workers().begin(), sigkill);
    until([&] { return third->is_ready(); });
    EXPECT_TRUE(std::holds_alternative<TerminatedWorker>(third->get().error()));
    until([&] { return workers().empty(); });
  });
  second = send({"wait_for", {fixture.mark("called")}}, [](BatchOutcome&) {});
  third = send({"mark_and_hang", {fixture.mark("hangs")}});
  fixture.make_mark("sent");
  EXPECT_TRUE(first->get().has_value());
  EXPECT_FALSE(backend->is_ready());
}

TEST_F(Served, with_the_true_cause_is_the_death_of_a_worker_that_closed_everything_E13) {
  List all;
  for (int fd = 3; fd < 40; ++fd) {
    all.emplace_back(fd);
  }
  configure();
  const FuturePtr future = send({"close_fds", all});
  ASSERT_FALSE(future->get().has_value());
  EXPECT_EQ(std::get<TerminatedWorker>(future->get().error()).exit,
            (os::ChildExit{.code = 2, .killed = false}));
}

TEST_F(Served, with_the_true_cause_is_a_worker_that_closes_its_pipe_and_stays_E13) {
  configure();
  const FuturePtr future = send({"close_and_hang", {worker::results_fd}});
  ASSERT_FALSE(future->get().has_value());
  ASSERT_TRUE(std::holds_alternative<Error>(future->get().error()))
      << describe(future->get().error());
  EXPECT_EQ(code_of(future->get()), std::errc::broken_pipe);
  std::string subject = std::get<Error>(future->get().error()).subject;
  std::erase_if(subject, [](char letter) { return letter >= '0' && letter <= '9'; });  // A pid
  pretend::expect_transcript(subject);
}

TEST_F(Served, with_the_true_cause_is_a_worker_that_closes_its_pipe_and_goes_when_it_is_told_E13) {
  configure();
  const FuturePtr future = send({"close_and_leave_with", {worker::results_fd, 7}});
  ASSERT_FALSE(future->get().has_value());
  EXPECT_EQ(std::get<TerminatedWorker>(future->get().error()).exit,
            (os::ChildExit{.code = 7, .killed = false}));
}

TEST_F(Served, with_the_true_cause_is_a_worker_that_can_start_no_thread_E13_B9) {
  pretend::set_variable(no_threads, "1");
  configure();
  pretend::set_variable(no_threads, "");
  // The worker may have died before it gets the job.
  const auto sent = backend->apply_async({{"square", {3}}}, {});
  const TaskFailure failure = sent ? (*sent)->get().error() : sent.error();
  EXPECT_EQ(std::get<TerminatedWorker>(failure).exit, (os::ChildExit{.code = 2, .killed = false}));
  EXPECT_THAT(std::get<TerminatedWorker>(failure).reason, testing::HasSubstr("thread"));
}

TEST_F(Served, by_processes_alone_are_those_who_had_processes_E13_B5) {
  Parallel parallel(fixture.session, fixture.functions, options());
  EXPECT_FALSE(parallel.run({{"signal_self", {sigkill}}}).has_value());
  List pids;
  std::jthread([&] { pids = must_be(parallel.run({{"pid", {}}, {"pid", {}}})); }).join();
  ASSERT_EQ(pids.size(), 2U);
  EXPECT_THAT(pids, testing::Each(testing::Ne(Value(fixture.os.process_id()))));
}

TEST_F(Served, by_the_other_worker_are_jobs_behind_a_long_one_B5) {
  configure();
  std::vector<FuturePtr> brief;
  for (int number = 0; number < 8; ++number) {
    send({"square", {3}})->get();
  }
  const FuturePtr busy = send({"mark_and_wait", {fixture.mark("busy"), fixture.mark("go")}});
  fixture.wait_for_mark("busy");
  constexpr int count = 7;
  for (int number = 0; number < count; ++number) {
    brief.push_back(send({"square", {3}}));
  }
  // One may be queued where the long one runs.
  until([&] {
    return std::ranges::count_if(brief, [](const auto& each) { return each->is_ready(); }) >=
           count - 1;
  });
  fixture.make_mark("go");
  for (const FuturePtr& each : brief) {
    EXPECT_EQ(must_be(each->get()), List{9});
  }
}

}  // namespace
}  // namespace lastref
