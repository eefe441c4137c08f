// contract_test: what every backend promises, wherever it runs its tasks.
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/joblib.hpp>
#include <lastref/npy.hpp>

#include "property_tests/impl/backends/fixture.hpp"

namespace lastref {
namespace {

using pretend::code_of;
using pretend::Fixture;
using pretend::must;
using pretend::must_be;
using pretend::until;

class BackendContract : public testing::TestWithParam<BackendKind> {
 protected:
  bool has_pool() const { return GetParam() != BackendKind::sequential; }

  /// Threads wait for running tasks, and those for the mark "go", which is made during the end.
  void terminate() {
    std::jthread ending([&] { EXPECT_TRUE(backend->terminate().has_value()); });
    if (GetParam() == BackendKind::threads) {
      until([&] { return code_of(backend->apply_async({}, {})) == std::errc::operation_canceled; });
      fixture.make_mark("go");
    }
  }

  Fixture fixture;
  std::shared_ptr<ParallelBackend> backend = fixture.make(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Every,
                         BackendContract,
                         testing::Values(BackendKind::sequential,
                                         BackendKind::threads,
                                         BackendKind::processes),
                         testing::PrintToStringParamName());

Batch squares(std::int64_t from, std::int64_t to) {
  Batch batch;
  for (std::int64_t number = from; number < to; ++number) {
    batch.push_back({"square", {number}});
  }
  return batch;
}

TEST_P(BackendContract, each_batch_has_its_results_in_order_and_calls_back_once_B1) {
  must(backend->configure(fixture.options(2)));
  constexpr int batches = 40;
  std::atomic<int> calls = 0;
  std::vector<FuturePtr> futures;
  for (int at = 0; at < batches; ++at) {
    futures.push_back(
        must_be(backend->apply_async(squares(at, at + 3), [&](BatchOutcome&) { ++calls; })));
  }
  for (std::int64_t at = 0; at < batches; ++at) {
    const BatchOutcome& outcome = futures[static_cast<std::size_t>(at)]->get();
    ASSERT_TRUE(outcome.has_value()) << describe(outcome.error());
    EXPECT_EQ(*outcome, (List{at * at, (at + 1) * (at + 1), (at + 2) * (at + 2)}));
  }
  EXPECT_EQ(calls, batches);
}

TEST_P(BackendContract, an_empty_batch_and_no_callback_are_fine_B1) {
  must(backend->configure(fixture.options(2)));
  EXPECT_EQ(must_be(must_be(backend->apply_async({}, {}))->get()), List{});
}

TEST_P(BackendContract, a_callback_may_take_the_results_B1) {
  must(backend->configure(fixture.options(2)));
  List taken;
  const FuturePtr future = must_be(backend->apply_async(
      squares(3, 5), [&](BatchOutcome& outcome) { taken = std::move(outcome).value(); }));
  static_cast<void>(future->get());
  EXPECT_EQ(taken, (List{9, 16}));
}

TEST_P(BackendContract, arguments_are_read_only_whatever_their_size_E13) {
  for (const MapMode mode : {MapMode::read, MapMode::read_write, MapMode::copy_on_write}) {
    BackendOptions options = fixture.options(2);
    options.arrays.mmap_mode = mode;
    must(backend->configure(options));
    for (const std::size_t size : {std::size_t{10}, 10 * pretend::small_nbytes}) {
      const Array array = pretend::array_of(size);
      for (const Value& argument :
           {Value(array), Value(List{array}), Value(must(array.transpose()))}) {
        const FuturePtr future = must_be(backend->apply_async({{"store", {argument}}}, {}));
        EXPECT_EQ(code_of(future->get()), std::errc::permission_denied);
      }
      EXPECT_EQ(array.data()[0], std::byte{1});
      EXPECT_TRUE(array.writable());
    }
  }
}

TEST_P(BackendContract, stores_to_a_shared_map_arrive_and_to_no_other_E13) {
  must(backend->configure(fixture.options(2)));
  const std::string path = fixture.folder.path("shared.npy");
  const DType dtype = pretend::array_of(1).dtype();
  for (const std::size_t size : {std::size_t{10}, 10 * pretend::small_nbytes}) {
    const Array made = must(create_npy(fixture.os, path, dtype, {size}));
    const Array shared = must(map_npy(fixture.os, path, MapMode::read_write));
    const Array own = must(map_npy(fixture.os, path, MapMode::copy_on_write));
    const auto store = [&](const Array& array) {
      return code_of(must_be(backend->apply_async({{"store", {array}}}, {}))->get());
    };
    EXPECT_EQ(store(own), std::errc::permission_denied);
    EXPECT_EQ(store(shared.read_only()), std::errc::permission_denied);
    EXPECT_EQ(made.data()[0], std::byte{0});
    EXPECT_EQ(store(shared), std::errc{});
    EXPECT_EQ(made.data()[0], std::byte{7});
    must(made.mutable_data())[0] = std::byte{0};
    EXPECT_EQ(store(made), std::errc{});
    EXPECT_EQ(shared.data()[0], std::byte{7});
  }
  fixture.folder.remove("shared.npy");
}

TEST_P(BackendContract, a_callback_may_send_more_B1) {
  must(backend->configure(fixture.options(2)));
  std::atomic<int> left = 20;
  std::atomic<int> done = 0;
  std::function<void(BatchOutcome&)> again = [&](BatchOutcome&) {
    if (--left >= 0) {
      EXPECT_TRUE(backend->apply_async(squares(0, 1), again).has_value());
    }
    ++done;
  };
  must_be(backend->apply_async(squares(0, 1), again));
  until([&] { return done == 21; });
}

TEST_P(BackendContract, many_threads_get_the_same_outcome_B1) {
  must(backend->configure(fixture.options(2)));
  const bool waits = has_pool();
  const Batch batch = {waits ? Task{"wait_for", {fixture.mark("go"), 5}} : Task{"echo", {5}}};
  const FuturePtr future = must_be(backend->apply_async(batch, {}));
  EXPECT_EQ(future->is_ready(), !waits);
  std::atomic<int> right = 0;
  std::vector<std::jthread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back(
        [&] { right += future->get() == BatchOutcome(List{Value(List{5})}) ? 1 : 0; });
  }
  fixture.make_mark("go");
  threads.clear();
  EXPECT_EQ(right, 4);
  EXPECT_TRUE(future->is_ready());
}

TEST_P(BackendContract, the_first_failure_of_a_batch_is_its_outcome_B1_B7) {
  must(backend->configure(fixture.options(2)));
  const Batch batch = {
      {"square", {2}}, {"refuse", {"here"}}, {"throw_standard", {"not heard"}}, {"square", {3}}};
  const FuturePtr future = must_be(backend->apply_async(batch, {}));
  ASSERT_FALSE(future->get().has_value());
  EXPECT_EQ(std::get<Error>(future->get().error()),
            (Error{.code = std::errc::no_space_on_device, .call = Call::write, .subject = "here"}));
  EXPECT_EQ(must_be(must_be(backend->apply_async(squares(2, 3), {}))->get()), List{4});
}

TEST_P(BackendContract, a_pool_that_is_not_configured_takes_nothing_B1) {
  if (has_pool()) {
    bool called = false;
    const auto before = backend->apply_async(squares(0, 1), [&](BatchOutcome&) { called = true; });
    EXPECT_EQ(code_of(before), std::errc::operation_not_permitted);
    EXPECT_FALSE(backend->is_ready());
    must(backend->configure(fixture.options(2)));
    EXPECT_TRUE(backend->is_ready());
    EXPECT_TRUE(backend->terminate().has_value());
    EXPECT_EQ(code_of(backend->apply_async(squares(0, 1), {})), std::errc::operation_not_permitted);
    EXPECT_FALSE(called);
  }
  EXPECT_TRUE(backend->terminate().has_value());
  EXPECT_TRUE(backend->terminate().has_value());
}

TEST_P(BackendContract, no_jobs_are_an_error_and_leave_it_unready_B2_B3) {
  EXPECT_EQ(backend->configure(fixture.options(0)).error().code, std::errc::invalid_argument);
  EXPECT_EQ(backend->effective_n_jobs(0).error().code, std::errc::invalid_argument);
  EXPECT_EQ(backend->is_ready(), !has_pool());
  must(backend->configure(fixture.options(2)));
  EXPECT_EQ(must_be(must_be(backend->apply_async(squares(2, 3), {}))->get()), List{4});
}

TEST_P(BackendContract, no_exceptions_are_told_apart_and_a_batch_is_one_task_at_first_B1) {
  EXPECT_TRUE(joblib::get_exceptions(*backend).empty());
  EXPECT_EQ(backend->compute_batch_size(), 1U);
}

TEST_P(BackendContract, batches_of_a_pool_grow_after_short_ones_and_restart_with_it_B6) {
  must(backend->configure(fixture.options(2)));
  for (int starts = 0; starts < 2; ++starts) {
    backend->batch_completed(1, std::chrono::milliseconds(10));
    EXPECT_EQ(backend->compute_batch_size(), has_pool() ? 40U : 1U);
    must(backend->abort_everything(/*ensure_ready=*/true));
    EXPECT_EQ(backend->compute_batch_size(), 1U);
  }
}

TEST_P(BackendContract, what_is_on_its_way_when_it_ends_fails_once_each_B1_B8) {
  if (!has_pool()) {
    return;
  }
  must(backend->configure(fixture.options(2)));
  std::atomic<int> canceled = 0;
  std::atomic<int> calls = 0;
  std::vector<FuturePtr> futures;
  for (int number = 0; number < 6; ++number) {
    const std::string name = std::to_string(number);
    futures.push_back(must_be(backend->apply_async(
        {{"mark_and_wait", {fixture.mark(name), fixture.mark("go")}}}, [&](BatchOutcome& outcome) {
          ++calls;
          canceled += code_of(outcome) == std::errc::operation_canceled ? 1 : 0;
        })));
  }
  fixture.wait_for_mark("0");
  fixture.wait_for_mark("1");
  const std::size_t before = fixture.folder.names().size();
  terminate();
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(canceled, GetParam() == BackendKind::threads ? 4 : 6);
  for (const FuturePtr& future : futures) {
    EXPECT_TRUE(future->is_ready());
  }
  fixture.make_mark("go");
  EXPECT_EQ(fixture.folder.names().size(), before + 1);
}

TEST_P(BackendContract, no_task_of_a_batch_begins_after_the_end_B1_B8) {
  if (!has_pool()) {
    return;
  }
  must(backend->configure(fixture.options(2)));
  const auto task = [&](const std::string& name) {
    return Task{"mark_and_wait", {fixture.mark(name), fixture.mark("go")}};
  };
  const FuturePtr future = must_be(backend->apply_async({task("first"), task("second")}, {}));
  fixture.wait_for_mark("first");
  terminate();
  EXPECT_EQ(code_of(future->get()), std::errc::operation_canceled);
  EXPECT_FALSE(fixture.has_mark("second"));
}

TEST_P(BackendContract, a_callback_that_would_end_its_own_backend_is_told_so_B1) {
  if (!has_pool()) {
    return;
  }
  must(backend->configure(fixture.options(2)));
  std::vector<std::errc> codes;
  const FuturePtr future = must_be(backend->apply_async(squares(1, 2), [&](BatchOutcome&) {
    codes = {backend->terminate().error().code,
             backend->abort_everything(/*ensure_ready=*/true).error().code,
             backend->configure(fixture.options(2)).error().code};
  }));
  EXPECT_TRUE(future->get().has_value());
  EXPECT_THAT(codes, testing::Each(std::errc::resource_deadlock_would_occur));
  EXPECT_EQ(codes.size(), 3U);
}

TEST_P(BackendContract, so_is_a_callback_of_what_was_canceled_B1) {
  if (!has_pool()) {
    return;
  }
  must(backend->configure(fixture.options(2)));
  std::atomic<int> told = 0;
  const auto end_it = [&](BatchOutcome& outcome) {
    if (!outcome) {
      told += backend->terminate() ? 0 : 1;
      EXPECT_EQ(backend->abort_everything(/*ensure_ready=*/true).error().code,
                std::errc::resource_deadlock_would_occur);
    }
  };
  for (int number = 0; number < 4; ++number) {
    const Task task = {"mark_and_wait", {fixture.mark(std::to_string(number)), fixture.mark("go")}};
    must_be(backend->apply_async({task}, end_it));
  }
  fixture.wait_for_mark("0");
  fixture.wait_for_mark("1");
  terminate();
  EXPECT_GE(told, 2);
}

TEST_P(BackendContract, an_abort_leaves_it_ready_or_not_as_was_wanted_B8) {
  must(backend->configure(fixture.options(2)));
  const auto again = must(backend->abort_everything(/*ensure_ready=*/true));
  EXPECT_EQ(again.n_jobs, has_pool() ? 2U : 1U);
  EXPECT_TRUE(backend->is_ready());
  EXPECT_EQ(must_be(must_be(backend->apply_async(squares(2, 3), {}))->get()), List{4});
  must(backend->abort_everything(/*ensure_ready=*/false));
  EXPECT_EQ(backend->is_ready(), !has_pool());
  must(backend->abort_everything(/*ensure_ready=*/true));
  EXPECT_EQ(must_be(must_be(backend->apply_async(squares(3, 4), {}))->get()), List{9});
}

TEST_P(BackendContract, threads_that_abort_at_once_all_get_an_answer_and_one_pool_B8) {
  must(backend->configure(fixture.options(2)));
  for (int round = 0; round < 3; ++round) {
    for (int number = 0; number < 4; ++number) {
      must_be(backend->apply_async(squares(0, 1), {}));
    }
    std::atomic<int> answers = 0;
    std::vector<std::jthread> threads;
    for (int number = 0; number < 3; ++number) {
      threads.emplace_back(
          [&] { answers += backend->abort_everything(/*ensure_ready=*/true).has_value() ? 1 : 0; });
    }
    must(backend->abort_everything(/*ensure_ready=*/true));
    threads.clear();
    EXPECT_EQ(answers, 3);
    must(backend->configure(fixture.options(2)));
  }
}

TEST_P(BackendContract, it_may_be_configured_again_and_again_B1) {
  for (const int n_jobs : {2, 3, 2}) {
    const Configured made = must(backend->configure(fixture.options(n_jobs)));
    EXPECT_EQ(made.n_jobs, has_pool() ? static_cast<unsigned>(n_jobs) : 1U);
    EXPECT_EQ(made.fallback, nullptr);
    EXPECT_EQ(must_be(must_be(backend->apply_async(squares(2, 3), {}))->get()), List{4});
  }
}

TEST_P(BackendContract, destroyed_with_work_on_its_way_it_fails_that_B1) {
  if (!has_pool()) {
    return;
  }
  must(backend->configure(fixture.options(2)));
  fixture.make_mark("go");
  std::vector<FuturePtr> futures;
  for (int number = 0; number < 20; ++number) {
    futures.push_back(must_be(backend->apply_async({{"wait_for", {fixture.mark("go")}}}, {})));
  }
  backend.reset();
  for (const FuturePtr& future : futures) {
    const BatchOutcome& outcome = future->get();
    EXPECT_TRUE(outcome || code_of(outcome) == std::errc::operation_canceled);
  }
}

}  // namespace
}  // namespace lastref
