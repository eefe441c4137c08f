// embedded_test: backends in a program that forks, and that runs for weeks.
#include <malloc.h>
#include <unistd.h>

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/tracker_client.hpp>

#include "impl/backends/pipe_ends.hpp"
#include "property_tests/impl/backends/fixture.hpp"
#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/hooked_os.hpp"
#include "property_tests/support/process_group.hpp"

namespace lastref {
namespace {

using backends::Inbox;
using backends::MessageKind;
using backends::Outbox;
using pretend::code_of;
using pretend::Fixture;
using pretend::must;
using pretend::must_be;

/// bytes; of the whole process.
std::size_t live_bytes() {
  const struct mallinfo2 all = ::mallinfo2();
  return all.uordblks + all.hblkhd;
}

class Embedded : public testing::TestWithParam<BackendKind> {
 protected:
  Fixture fixture;
};
INSTANTIATE_TEST_SUITE_P(Every,
                         Embedded,
                         testing::Values(BackendKind::sequential,
                                         BackendKind::threads,
                                         BackendKind::processes),
                         testing::PrintToStringParamName());

TEST_P(Embedded, a_copy_of_the_process_uses_and_destroys_in_nobodys_name_E8) {
  auto parallel = std::make_unique<Parallel>(
      fixture.session, fixture.functions, fixture.parallel(GetParam(), 2));
  must_be(parallel->run({{"square", {3}}}));
  auto backend = fixture.make(GetParam());
  must(backend->configure(fixture.options(2)));
  const bool waits = GetParam() != BackendKind::sequential;
  const Task task = waits ? Task{"wait_for", {fixture.mark("go"), 5}} : Task{"echo", {5}};
  const FuturePtr future = must_be(backend->apply_async({task}, {}));
  const os::Pid copy = pretend::run_in_copy([&]() -> int {
    parallel->abort();
    const bool is_told =
        code_of(parallel->run({{"square", {3}}})) == std::errc::operation_not_permitted;
    const bool is_future_told =
        !waits || code_of(future->get()) == std::errc::operation_not_permitted;
    parallel.reset();
    backend.reset();
    // Not by exit: a leak checker would miss the memory of threads that are not in the copy.
    ::_exit(is_told && is_future_told ? 0 : 1);
  });
  EXPECT_EQ(pretend::exit_code_of(copy), 0);
  fixture.make_mark("go");
  EXPECT_EQ(must_be(future->get()), List{Value(List{5})});
  EXPECT_EQ(must_be(parallel->run({{"square", {3}}})), List{9});
}

/// As in a container: a program that is process 1, and its forked child, which is process 1 as
/// well.
TEST_P(Embedded, as_process_1_with_a_copy_that_is_process_1_speaks_in_its_own_name_E8) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer bears no thread in a copy of a process that has some";
#endif
  const auto calls = [](Fixture& own) {
    Parallel parallel(own.session, own.functions, own.parallel(GetParam(), 2));
    EXPECT_EQ(must_be(parallel.run({{"square", {3}}, {"sum", {pretend::array_of(100'000)}}})),
              (List{9, 100'000}));
  };
  const auto outer = pretend::run_as_first_process([&] {
    EXPECT_EQ(::getpid(), 1);
    {
      Fixture mine;
      Parallel parallel(mine.session, mine.functions, mine.parallel(GetParam(), 2));
      must_be(parallel.run({{"square", {3}}}));
      const auto inner = pretend::run_as_first_process([&] {
        EXPECT_EQ(::getpid(), 1);
        EXPECT_EQ(code_of(parallel.run({{"square", {3}}})), std::errc::operation_not_permitted);
        Fixture own;
        calls(own);
        return HasFailure() ? 1 : 0;
      });
      EXPECT_EQ(inner, 0);
      EXPECT_EQ(must_be(parallel.run({{"square", {4}}})), List{16});
    }
    return HasFailure() ? 1 : 0;
  });
  if (outer) {
    EXPECT_EQ(*outer, 0);
  } else {
    GTEST_SKIP() << "only root may create a pid namespace";
  }
}

TEST_P(Embedded, calls_leave_no_memory_behind_E12) {
  if (GetParam() == BackendKind::processes) {
    return;  // Another test covers files.
  }
  Parallel parallel(fixture.session, fixture.functions, fixture.parallel(GetParam(), 2));
  const auto call = [&](int times) {
    for (; times > 0; --times) {
      must_be(parallel.run({{"square", {3}}, {"square", {4}}}));
    }
    return live_bytes();
  };
  const std::size_t before = call(1000);
  constexpr std::size_t slack = std::size_t{64} << 10U;
  EXPECT_LE(call(10'000), before + slack);
}

TEST(Strangers, forked_from_the_caller_do_not_delay_the_end_of_a_pool_E8) {
  std::atomic<int> kills = 0;
  pretend::HookedOs os({.program = this_program});
  os.after = [&](const auto& each) { kills += each.call == Call::signal_process ? 1 : 0; };
  Fixture fixture;
  Session session = fixture.session;
  session.os = &os;
  {
    ProcessBackend backend(session, fixture.functions);
    must(backend.configure(fixture.options(2)));
    must_be(must_be(backend.apply_async({{"square", {3}}}, {}))->get());
    pretend::daemonise_until(fixture.mark("enough"));
    EXPECT_TRUE(backend.terminate().has_value());
    EXPECT_EQ(kills, 0);
  }
  fixture.make_mark("enough");
}

/// Starts a tree and ends it, many times; 0 if all trackers have been reaped.
int count_rounds_with_zombies(const std::string& runtime) {
  constexpr int rounds = 30;
  os::KernelOs os({.program = this_program});
  for (int round = 0; round < rounds; ++round) {
    const auto client = tracker::Client::lead(os, {.runtime_folder = runtime});
    if (!client->tree()) {
      return round + 1;
    }
  }
  // Nothing else reaps: has_children only checks.
  pretend::until([] { return !pretend::has_children(); });
  return 0;
}

TEST(Trackers, of_a_program_that_adopts_orphans_are_reaped_E7) {
  const pretend::FreshFolder folder;
  const os::Pid copy = pretend::run_in_copy([&] {
    pretend::adopt_orphans();
    return count_rounds_with_zombies(folder.path("runtime"));
  });
  EXPECT_EQ(pretend::exit_code_of(copy), 0);
}

TEST(Trackers, of_a_program_that_is_process_1_are_reaped_E7) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer bears no thread in a copy of a process that has some";
#endif
  const pretend::FreshFolder folder;
  const auto code = pretend::run_as_first_process(
      [&] { return count_rounds_with_zombies(folder.path("runtime")); });
  if (code) {
    EXPECT_EQ(*code, 0);
  } else {
    GTEST_SKIP() << "only root may create a pid namespace";
  }
}

TEST(Inboxes, give_the_memory_of_large_messages_back_E12) {
  constexpr std::size_t large = std::size_t{20} << 20U;
  constexpr std::size_t slack = std::size_t{2} << 20U;
  os::KernelOs os;
  const auto ends = must(os.make_pipe());
  Inbox inbox(os, os::UniqueFd(os, ends.read));
  Outbox outbox(os, os::UniqueFd(os, ends.write));
  const std::size_t before = live_bytes();
  outbox.post(MessageKind::job, {}, os::Packed(large));
  std::size_t got = 0;
  while (got == 0) {
    must(outbox.flush());
    must(inbox.fill());
    const auto message = must(inbox.next());
    got = message ? message->body.size() : 0;
  }
  EXPECT_EQ(got, large);
  EXPECT_FALSE(must(inbox.next()).has_value());
  EXPECT_LE(live_bytes(), before + slack);
}

}  // namespace
}  // namespace lastref
