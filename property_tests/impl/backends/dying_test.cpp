// dying_test: real workers that are killed, exit, stop, fork or mistreat their descriptors; and a
// task that writes an answer in place of its worker.
#include <array>
#include <atomic>
#include <cstdint>
#include <ostream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "impl/backends/codec.hpp"
#include "impl/backends/pipe_ends.hpp"
#include "impl/os/wire.hpp"
#include "property_tests/impl/backends/fixture.hpp"
#include "property_tests/support/hooked_os.hpp"
#include "property_tests/support/process_group.hpp"

namespace lastref {
namespace {

using backends::MessageKind;
using pretend::array_of;
using pretend::belongings;
using pretend::code_of;
using pretend::Fixture;
using pretend::HookedOs;
using pretend::must;
using pretend::must_be;
using pretend::until;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int sigint = 2;
constexpr int sigkill = 9;
constexpr int sigusr1 = 10;  // No sanitizer catches it.
constexpr int sigterm = 15;
constexpr int sigstop = 19;
constexpr int huge = 3'000'000;  // bytes; more than any pipe holds
constexpr int mapped = 4096;     // bytes; an array of this size is sent as a file

/// The kernel, in which a worker dies as soon as it has answered, and its answer is read a few
/// bytes at a time. So the process is known to be dead while most of its answer is still in the
/// pipe.
class LastWordsOs final : public os::KernelOs {
 public:
  LastWordsOs() : KernelOs({.program = this_program}) {}

  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override {
    auto ready = KernelOs::poll(items, timeout);
    // The wake pipe, and for each worker its process, its results and its jobs.
    for (std::size_t at = 1; is_armed && ready && at + 2 < items.size(); at += 3) {
      os::PollItem& process = items[at];
      if (items[at + 1].readable && !process.readable) {
        is_armed = false;
        is_short = true;
        static_cast<void>(KernelOs::signal_process(process.fd, os::Signal::kill));
        std::array died = {process};
        ready = KernelOs::poll(died, std::nullopt);
        process.readable = died[0].readable;
      }
    }
    return ready;
  }
  Result<std::size_t> read(os::Fd fd, os::Buffer into) noexcept override {
    return KernelOs::read(fd, is_short.exchange(false) ? into.first(10) : into);
  }

  std::atomic<bool> is_armed = false;
  std::atomic<bool> is_short = false;
};

class Workers : public testing::Test {
 protected:
  FuturePtr send(Batch batch) { return must_be(backend->apply_async(std::move(batch), {})); }
  List run(Batch batch) { return must_be(send(std::move(batch))->get()); }
  void configure(int n_jobs = 2) { must(backend->configure(fixture.options(n_jobs))); }
  /// The pids of two workers, each of which has answered while the other was at work.
  std::set<os::Pid> workers() {
    std::set<os::Pid> all = pretend::children();
    for (const os::Pid other : before) {
      all.erase(other);
    }
    return all;
  }
  TerminatedWorker terminated(const FuturePtr& future) {
    EXPECT_FALSE(future->get().has_value());
    return std::get<TerminatedWorker>(future->get().error());
  }
  void goes_on() {
    configure();
    EXPECT_EQ(run({{"square", {3}}}), List{9});
  }

  Fixture fixture;
  std::string tree = must(fixture.session.tree());  // Its tracker is started before the workers.
  std::set<os::Pid> before = pretend::children();
  std::shared_ptr<ParallelBackend> backend = fixture.make(BackendKind::processes);
};

TEST_F(Workers, killed_in_a_task_fail_all_that_is_pending_at_once_B9) {
  configure();
  const FuturePtr one = send({{"mark_and_hang", {fixture.mark("one"), array_of(huge)}}});
  const FuturePtr two = send({{"mark_and_hang", {fixture.mark("two")}}});
  const FuturePtr three = send({{"square", {1}}});
  fixture.wait_for_mark("one");
  fixture.wait_for_mark("two");
  const os::Pid victim = *workers().begin();
  pretend::send_signal(victim, sigkill);
  for (const FuturePtr& future : {one, two, three}) {
    EXPECT_EQ(terminated(future),
              (TerminatedWorker{
                  .pid = victim, .exit = os::ChildExit{sigkill, true}, .task = "mark_and_hang"}));
    EXPECT_EQ(terminated(future).signal(), sigkill);
  }
  EXPECT_FALSE(backend->is_ready());
  const auto late = backend->apply_async({{"square", {1}}}, {});
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(std::get<TerminatedWorker>(late.error()).pid, victim);
  // Whatever the dead worker held is reclaimed, and the array's own file with the pool.
  goes_on();
  until([&] { return fixture.files().empty(); });
}

TEST_F(Workers, that_kill_themselves_or_leave_are_told_apart_B9) {
  for (const int signal : {sigkill, sigusr1, sigterm}) {
    configure();
    const auto dead = terminated(send({{"signal_self", {signal}}}));
    ASSERT_TRUE(dead.exit.has_value());
    EXPECT_EQ(dead.signal(), signal);
  }
  configure();
  const auto left = terminated(send({{"leave_with", {3}}}));
  EXPECT_EQ(left.exit, (os::ChildExit{.code = 3, .killed = false}));
  configure();
  EXPECT_EQ(terminated(send({{"leave_with", {0}}})).exit, os::ChildExit{});
}

TEST_F(Workers, that_die_name_the_task_that_they_ran_B9) {
  configure();
  EXPECT_EQ(terminated(send({{"signal_self", {sigkill}}})).task, "signal_self");
  configure();
  EXPECT_EQ(terminated(send({{"leave_with", {3}}, {"leave_with", {4}}})).task,
            "one of 2 tasks, leave_with");
  configure();
  EXPECT_EQ(terminated(send({{"square", {3}}, {"leave_with", {4}}, {"square", {3}}})).task,
            "one of 3 tasks, square and others");
}

TEST_F(Workers, killed_idle_are_heard_of_without_a_task_B9) {
  configure();
  run({{"square", {1}}});
  const os::Pid victim = *workers().begin();
  pretend::send_signal(victim, sigkill);
  until([&] { return !backend->is_ready(); });
  const auto late = backend->apply_async({{"square", {1}}}, {});
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(std::get<TerminatedWorker>(late.error()),
            (TerminatedWorker{.pid = victim, .exit = os::ChildExit{sigkill, true}}));
  goes_on();
}

TEST_F(Workers, that_die_after_their_results_have_given_them_B9) {
  for (int round = 0; round < 10; ++round) {
    configure();
    const FuturePtr good = send({{"make_bytes", {50'000}}});
    EXPECT_EQ(must_be(good->get()), List{ByteString(50'000, std::byte{7})});
    terminated(send({{"leave_with", {1}}}));
  }
}

TEST(LastWords, of_a_worker_count_when_it_is_known_to_be_dead_B9) {
  LastWordsOs os;
  Fixture fixture;
  fixture.session = Session::lead(os);
  {
    const auto backend = fixture.make(BackendKind::processes);
    must(backend->configure(fixture.options(2)));
    os.is_armed = true;
    const FuturePtr good = must_be(backend->apply_async({{"make_bytes", {1000}}}, {}));
    EXPECT_EQ(must_be(good->get()), List{ByteString(1000, std::byte{7})});
    EXPECT_FALSE(os.is_armed);
  }
  fixture.session = {};
}

TEST_F(Workers, that_are_stopped_do_not_stop_an_abort_B8) {
  configure();
  const FuturePtr busy = send({{"mark_and_hang", {fixture.mark("busy")}}});
  fixture.wait_for_mark("busy");
  for (const os::Pid worker : workers()) {
    pretend::send_signal(worker, sigstop);
    pretend::wait_until_stopped(worker);
  }
  must(backend->abort_everything(/*ensure_ready=*/true));
  EXPECT_EQ(pretend::code_of(busy->get()), std::errc::operation_canceled);
  EXPECT_EQ(run({{"square", {3}}}), List{9});
}

TEST_F(Workers, take_and_give_more_than_a_pipe_holds_B5) {
  configure();
  std::vector<FuturePtr> futures;
  for (int number = 0; number < 6; ++number) {
    futures.push_back(send({{"size_of_bytes", {ByteString(huge)}}, {"make_bytes", {huge}}}));
  }
  for (const FuturePtr& future : futures) {
    EXPECT_EQ(must_be(future->get()), (List{huge, ByteString(huge, std::byte{7})}));
  }
}

TEST_F(Workers, that_die_under_a_job_that_no_pipe_holds_fail_it_B9) {
  configure();
  std::vector<FuturePtr> futures = {send({{"mark_and_hang", {fixture.mark("one")}}}),
                                    send({{"mark_and_hang", {fixture.mark("two")}}})};
  fixture.wait_for_mark("one");
  fixture.wait_for_mark("two");
  for (int number = 0; number < 4; ++number) {
    futures.push_back(send({{"size_of_bytes", {ByteString(huge)}}}));
  }
  pretend::send_signal(*workers().rbegin(), sigkill);
  for (const FuturePtr& future : futures) {
    terminated(future);
  }
  // The same for a worker that stopped in the middle of reading such a job.
  configure();
  for (const os::Pid worker : workers()) {
    pretend::send_signal(worker, sigstop);
    pretend::wait_until_stopped(worker);
  }
  const FuturePtr half = send({{"size_of_bytes", {ByteString(huge)}}});
  pretend::send_signal(*workers().begin(), sigkill);
  terminated(half);
  goes_on();
}

TEST_F(Workers, results_do_not_wait_for_the_next_job_B5) {
  configure();
  for (int round = 0; round < 20; ++round) {
    for (int brief = 0; brief < 4; ++brief) {
      run({{"square", {1}}});
    }
    const std::string name = "go" + std::to_string(round);
    std::vector<FuturePtr> early;
    std::vector<FuturePtr> late;
    for (int number = 0; number < 2; ++number) {
      early.push_back(send({{"make_bytes", {200'000}}}));
    }
    for (int number = 0; number < 2; ++number) {
      late.push_back(send({{"wait_for", {fixture.mark(name)}}}));
    }
    for (const FuturePtr& future : early) {
      EXPECT_TRUE(future->get().has_value());
    }
    fixture.make_mark(name);
    for (const FuturePtr& future : late) {
      EXPECT_TRUE(future->get().has_value());
    }
  }
}

TEST_F(Workers, that_fork_and_return_twice_answer_once_and_run_the_rest_once_B5) {
  configure();
  const std::string path = fixture.mark("lines");
  EXPECT_EQ(run({{"fork_and_return", {}}, {"append", {path}}, {"append", {path}}}),
            (List{"original", Value(), Value()}));
  EXPECT_EQ(run({{"square", {3}}}), List{9});
  EXPECT_TRUE(backend->terminate().has_value());
  backend.reset();
  fixture.session = {};
  pretend::bury_all();
  EXPECT_EQ(fixture.folder.read("marks/lines"), "xx");
}

TEST_F(Workers, that_leave_a_daemon_with_their_descriptors_end_all_the_same_B5_B9) {
  configure();
  EXPECT_EQ(run({{"daemonise", {fixture.mark("enough")}}}), List{Value()});
  EXPECT_EQ(run({{"square", {3}}}), List{9});
  terminated(send({{"daemonise", {fixture.mark("enough")}}, {"leave_with", {5}}}));
  configure();
  run({{"daemonise", {fixture.mark("enough")}}});
  EXPECT_TRUE(backend->terminate().has_value());
  fixture.make_mark("enough");
}

TEST_F(Workers, that_are_idle_leave_by_themselves_whatever_they_have_forked_B5_B8) {
  std::atomic<int> kills = 0;
  HookedOs counting({.program = this_program});
  counting.after = [&](const auto& each) { kills += each.call == Call::signal_process ? 1 : 0; };
  Session session = fixture.session;
  session.os = &counting;
  backend = std::make_shared<ProcessBackend>(session, fixture.functions);
  configure();
  run({{"daemonise", {fixture.mark("enough")}}});
  run({{"keep", {array_of(huge)}}});
  EXPECT_TRUE(backend->terminate().has_value());
  EXPECT_EQ(kills, 0);
  fixture.make_mark("enough");
  backend.reset();
}

TEST_F(Workers, that_close_their_descriptors_fail_and_do_not_hang_B9) {
  for (const List& fds : {List{3}, List{4}, List{3, 4}, List{3, 4, 5}, List{4, 5}}) {
    configure();
    const FuturePtr future = send({{"close_fds", fds}});
    const FuturePtr next = send({{"close_fds", fds}});
    const FuturePtr last = send({{"close_fds", fds}});
    for (const FuturePtr& each : {future, next, last}) {
      EXPECT_TRUE(each->get() || std::holds_alternative<TerminatedWorker>(each->get().error()));
    }
    EXPECT_FALSE(last->get().has_value());
  }
  goes_on();
}

TEST_F(Workers, are_deaf_to_interrupts_B5) {
  configure();
  EXPECT_EQ(run({{"signal_self", {sigint}}}), List{"lives"});
  const std::set<os::Pid> same = workers();
  for (const os::Pid worker : same) {
    pretend::send_signal(worker, sigint);
  }
  EXPECT_EQ(run({{"square", {3}}}), List{9});
  EXPECT_EQ(workers(), same);
  EXPECT_TRUE(backend->is_ready());
}

TEST_F(Workers, leave_nothing_behind_B5_B8) {
  const auto had = belongings();
  for (int round = 0; round < 3; ++round) {
    configure(3);
    run({{"sum", {array_of(mapped)}}});
    EXPECT_THAT(workers(), SizeIs(3));
    EXPECT_TRUE(backend->terminate().has_value());
    EXPECT_EQ(pretend::children(), had.children);
    until([&] { return belongings() == had; });
    configure(3);
    send({{"mark_and_hang", {fixture.mark("runs" + std::to_string(round)), array_of(mapped)}}});
    fixture.wait_for_mark("runs" + std::to_string(round));
    must(backend->abort_everything(/*ensure_ready=*/false));
    EXPECT_EQ(pretend::children(), had.children);
    until([&] { return belongings() == had; });
    until([&] { return fixture.files().empty(); });
  }
  backend.reset();
  fixture.session = {};
  pretend::bury_all();  // The tracker exits by itself.
  EXPECT_FALSE(pretend::has_children());
}

TEST_F(Workers, of_a_parallel_that_die_fail_the_call_and_not_the_next_B9_B10) {
  Parallel parallel(
      fixture.session, fixture.functions, fixture.parallel(BackendKind::processes, 2));
  for (int round = 0; round < 3; ++round) {
    const auto outcome = parallel.run({{"square", {1}},
                                       {"sum", {array_of(mapped)}},
                                       {"signal_self", {sigkill}},
                                       {"square", {2}}});
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(std::get<TerminatedWorker>(outcome.error()).signal(), sigkill);
    EXPECT_EQ(workers(), std::set<os::Pid>());
    EXPECT_EQ(must_be(parallel.run({{"sum", {array_of(mapped)}}})), List{mapped});
    until([&] { return fixture.files().empty(); });
  }
  for (const os::Pid worker : workers()) {
    pretend::send_signal(worker, sigkill);
    pretend::wait_until_dead(worker);
  }
}

/// A message of a worker, with any contents.
ByteString message_of(MessageKind kind, os::Bytes body) {
  os::Packed packed;
  os::put(packed, std::uint64_t{1 + body.size()});
  os::put(packed, static_cast<std::uint8_t>(kind));
  packed.insert(packed.end(), body.begin(), body.end());
  return {packed.begin(), packed.end()};
}

/// Reports that the job of this number took no time, followed by the rest.
os::Packed answer_to(std::uint64_t number, const std::string& rest) {
  os::Packed packed;
  os::put(packed, number);
  os::put(packed, std::int64_t{0});
  const os::Bytes bytes = os::bytes_of(rest);
  packed.insert(packed.end(), bytes.begin(), bytes.end());
  return packed;
}

constexpr std::uint64_t first_job = 1;

struct Lie {
  const char* name;
  ByteString bytes;
};
void PrintTo(const Lie& lie, std::ostream* out) {
  *out << lie.name;
}

class MalformedAnswers : public testing::TestWithParam<Lie> {};

INSTANTIATE_TEST_SUITE_P(
    Says,
    MalformedAnswers,
    testing::Values(
        Lie{"no_number", message_of(MessageKind::results, os::bytes_of("short"))},
        Lie{"another_number", message_of(MessageKind::results, answer_to(77, ""))},
        Lie{"a_job", message_of(MessageKind::job, answer_to(first_job, ""))},
        Lie{"no_kind", message_of(MessageKind{backends::kinds}, {})},
        Lie{"no_results", message_of(MessageKind::results, answer_to(first_job, "nonsense"))},
        Lie{"no_failure", message_of(MessageKind::failed, answer_to(first_job, "nonsense"))}),
    [](const auto& each) { return std::string(each.param.name); });

TEST_P(MalformedAnswers, fails_its_job_with_a_reason_and_the_next_call_works_B9) {
  Fixture fixture;
  const auto backend = fixture.make(BackendKind::processes);
  must(backend->configure(fixture.options(2)));
  const auto told = must_be(backend->apply_async({{"say", {GetParam().bytes}}}, {}))->get();
  EXPECT_EQ(code_of(told), std::errc::bad_message);
  must(backend->abort_everything(/*ensure_ready=*/true));
  EXPECT_EQ(must_be(must_be(backend->apply_async({{"square", {3}}}, {}))->get()), List{9});
}

}  // namespace
}  // namespace lastref
