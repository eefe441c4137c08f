// start_fails_test: each call of a start fails with each error of its row, and nothing is left.
#include <algorithm>
#include <cerrno>
#include <iostream>
#include <iterator>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/backends/fixture.hpp"
#include "property_tests/support/hooked_os.hpp"

namespace lastref {
namespace {

using pretend::belongings;
using pretend::Crossing;
using pretend::Decision;
using pretend::Fate;
using pretend::Fixture;
using pretend::HookedOs;
using pretend::must;
using pretend::must_be;
using pretend::until;

/// Fails one call of the process's first thread.
struct Failing {
  Failing() {
    os.before = [this](const Crossing& crossing) { return decide(crossing.call); };
  }

  /// The k-th call from now, from 0, fails with the n-th error of its row; no call if there is
  /// none.
  void fail(std::size_t k, std::size_t n) {
    crossed = 0;
    fails_at = k;
    number = n;
    failed = Call::none;
  }

  HookedOs os{{.program = this_program}};
  std::size_t crossed = 0;
  std::optional<std::size_t> fails_at;
  std::size_t number = 0;
  Call failed = Call::none;

 private:
  Decision decide(Call call) {
    constexpr Call counted[] = {Call::close,
                                Call::make_pipe,
                                Call::spawn,
                                Call::open_process,
                                Call::start_thread,
                                Call::entropy};
    if (std::ranges::find(counted, call) == std::end(counted) || !fails_at ||
        os.thread_id() != os.process_id() || crossed++ != *fails_at) {
      return {};
    }
    const auto errors = row_of(call).errors;
    if (number >= errors.size()) {
      return {};
    }
    failed = call;
    return {.fate = Fate::fail, .code = std::errc{errors[number].error}};
  }
};

class StartFails : public testing::TestWithParam<BackendKind> {};
INSTANTIATE_TEST_SUITE_P(Every,
                         StartFails,
                         testing::Values(BackendKind::threads, BackendKind::processes),
                         testing::PrintToStringParamName());

TEST_P(StartFails, anywhere_and_leaves_nothing_and_the_next_one_works_B4_B5) {
  Fixture fixture;
  Failing failing;
  must(fixture.session.tree());
  Session session = fixture.session;
  session.os = &failing.os;
  std::shared_ptr<ParallelBackend> backend;
  if (GetParam() == BackendKind::threads) {
    backend = std::make_shared<ThreadingBackend>(session, fixture.functions);
  } else {
    backend = std::make_shared<ProcessBackend>(session, fixture.functions);
  }
  const auto had = belongings();
  std::size_t failures = 0;
  constexpr std::size_t errnos_max = 4;
  for (std::size_t k = 0, crossed = 1; k < crossed; ++k) {
    for (std::size_t n = 0; n < errnos_max; ++n) {
      failing.fail(k, n);
      const auto made = backend->configure(fixture.options(3));
      failing.fails_at = std::nullopt;
      crossed = std::max(crossed, failing.crossed);
      if (failing.failed == Call::none) {
        EXPECT_TRUE(made.has_value());
      } else {
        ++failures;
        SCOPED_TRACE(std::string(name_of(failing.failed)) + ", call " + std::to_string(k));
        // A descriptor is closed whatever close returns, and EINTR is retried.
        if (!made) {
          EXPECT_EQ(made.error().call, failing.failed);
          EXPECT_FALSE(backend->is_ready());
          EXPECT_EQ(pretend::children(), had.children);
          until([&] { return belongings() == had; });
        } else {
          EXPECT_TRUE(failing.failed == Call::close || failing.failed == Call::entropy);
        }
      }
      EXPECT_TRUE(backend->terminate().has_value());
      until([&] { return belongings() == had; });
      if (failing.failed == Call::none) {
        break;
      }
    }
  }
  std::cout << failures << " starts failed\n";
  EXPECT_GE(failures, GetParam() == BackendKind::threads ? 3U : 20U);
  must(backend->configure(fixture.options(3)));
  EXPECT_EQ(must_be(must_be(backend->apply_async({{"square", {3}}}, {}))->get()), List{9});
}

TEST_P(StartFails, with_a_pool_that_worked_before_and_leaves_nothing_of_that_B5) {
  Fixture fixture;
  Failing failing;
  must(fixture.session.tree());
  Session session = fixture.session;
  session.os = &failing.os;
  ThreadingBackend threads(session, fixture.functions);
  ProcessBackend processes(session, fixture.functions);
  ParallelBackend& backend = GetParam() == BackendKind::threads
                                 ? static_cast<ParallelBackend&>(threads)
                                 : static_cast<ParallelBackend&>(processes);
  const auto had = belongings();
  must(backend.configure(fixture.options(2)));
  const Array kept = pretend::array_of(5000);
  EXPECT_EQ(must_be(must_be(backend.apply_async({{"sum", {kept}}}, {}))->get()), List{5000});
  for (std::size_t k = 0; k < 200; ++k) {
    failing.fail(k, 0);
    if (!backend.abort_everything(/*ensure_ready=*/true)) {
      break;
    }
  }
  ASSERT_NE(failing.failed, Call::none);
  failing.fails_at = std::nullopt;
  EXPECT_FALSE(backend.is_ready());
  until([&] { return belongings() == had; });
  until([&] { return fixture.files().empty(); });
  EXPECT_EQ(must(backend.abort_everything(/*ensure_ready=*/true)).n_jobs, 2U);
  EXPECT_EQ(must_be(must_be(backend.apply_async({{"sum", {kept}}}, {}))->get()), List{5000});
}

TEST(StartFailsToo, without_a_tree_and_leaves_nothing_B5) {
  Fixture fixture;
  Session session = fixture.session;
  session.tree = []() -> Result<std::string> {
    return failure(std::errc::no_space_on_device, "no tree");
  };
  ProcessBackend backend(session, fixture.functions);
  const auto had = belongings();
  EXPECT_EQ(backend.configure(fixture.options(2)).error().code, std::errc::no_space_on_device);
  EXPECT_EQ(belongings(), had);
  Parallel parallel(session, fixture.functions, fixture.parallel(BackendKind::processes, 2));
  EXPECT_EQ(pretend::code_of(parallel.run({{"square", {1}}})), std::errc::no_space_on_device);
  EXPECT_EQ(belongings(), had);
}

}  // namespace
}  // namespace lastref
