// Tasks of typed pools that are killed, exceed their timeout, or are given up.
#include <chrono>

#include "fault_scenarios/support/pools.hpp"
#include "harness/platform/named_enum.hpp"
#include "harness/program/arena.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr std::chrono::milliseconds time_limit{500};

LASTREF_NAMED_ENUM(GivenUp, (cancelled, "cancelled"), (left, "left"), (ended, "ended"));
constexpr Parameter<GivenUp> given_up = {.name = "call", .usual = GivenUp::cancelled};

int square(int number) {
  count_square(*caller_of_task().stage, number);
  return number * number;
}

/// The first call for 0 waits until its worker is killed.
int square_of_killed(int number) {
  Stage& stage = *caller_of_task().stage;
  if (count_square(stage, number) == 1 && number == 0) {
    stage.send("a task is waiting", stage.role());
    stage.stay_until_killed();
  }
  return number * number;
}

/// The first call for 0 does not return.
int square_of_slow(int number) {
  Stage& stage = *caller_of_task().stage;
  if (count_square(stage, number) == 1 && number == 0) {
    stage.stay_until_killed();
  }
  return number * number;
}

/// Calls for other numbers than 0 do not return.
int square_of_zero(int number) {
  Stage& stage = *caller_of_task().stage;
  if (number != 0) {
    stage.tell("a task is waiting");
    stage.stay_until_killed();
  }
  return number * number;
}

Status killer(Stage& stage) {
  if (const auto role = stage.receive("a task is waiting")) {
    stage.kill(*role);
  }
  return ok();
}

/// In an undisturbed run, the task of element 0 fails with this code if it has no retry. In an
/// unusual schedule, others may exceed their timeout as well.
Status must_cost_one_task(Stage& stage, const Tally& tally, std::errc code, const char* claim) {
  if (!stage.is_undisturbed()) {
    return ok();
  }
  for (const Completion<int>& failed : tally.failed()) {
    if (failed.result.error().code != code) {
      stage.refute(claim, describe(failed.result.error()));
    }
  }
  const std::size_t expected = stage.value(pool_retries) == 0 ? 1 : 0;
  return tally.failed().size() == expected
             ? ok()
             : failure(std::errc::timed_out, std::to_string(tally.failed().size()) + " failures");
}

template <auto f>
Status root_of_one_failure(Stage& stage, TaskOptions options, std::errc code, const char* claim) {
  std::optional<Pool> pool;
  make_pool(stage, pool);
  const int count = stage.value(pool_tasks);
  options.retries = stage.value(pool_retries);
  Tally first(stage, options);
  may_fail(run_squares<f>(stage, *pool, "fail", count, first, options));
  first.must_have(count);
  const Status cost = must_cost_one_task(stage, first, code, claim);
  const Status met = must_have_all_workers(stage, *pool);
  return first_failure({cost, met, end(stage, pool)});
}

Status root_with_killed_worker(Stage& stage) {
  LASTREF_CHECK(stage.start("killer"));
  return root_of_one_failure<square_of_killed>(
      stage, {}, std::errc::owner_dead, "L3: a death costs only the task that ran");
}

Status root_with_slow_task(Stage& stage) {
  return root_of_one_failure<square_of_slow>(stage,
                                             {.timeout = time_limit},
                                             std::errc::stream_timeout,
                                             "L4: a timeout costs only its own task");
}

Status give_up(Stage& stage, std::optional<Pool>& pool) {
  const int workers = static_cast<int>(stage.value(pool_workers));
  if (stage.value(given_up) == GivenUp::left) {
    for (const auto& done : pool->as_completed<square_of_zero>(numbers_below(4 * workers))) {
      const AllocationScope scope(/*is_products=*/false);
      return status_of(done.result);
    }
  }
  auto running = pool->submit<square_of_zero>(1);
  auto queued = pool->submit<square_of_zero>(2);
  stage.await("a task is waiting");
  if (stage.value(given_up) == GivenUp::ended) {
    pool.reset();
  } else {
    running.cancel();
    queued.cancel();
  }
  Status other = ok();
  for (auto* const future : {&running, &queued}) {
    const auto result = future->get();
    const AllocationScope scope(/*is_products=*/false);
    if (result || (stage.is_undisturbed() && !failed_with(result, std::errc::operation_canceled))) {
      stage.refute("L6: a task that is given up fails with operation_canceled",
                   result ? "a result" : describe(result.error()));
    }
    if (other && !failed_with(result, std::errc::operation_canceled)) {
      other = status_of(result);
    }
  }
  return other;
}

Status root_that_gives_up(Stage& stage) {
  std::optional<Pool> pool;
  make_pool(stage, pool);
  Tally other(stage, {});
  Status there = ok();
  // Another call at the same time.
  const auto thread = stage.os().start_thread([&] {
    there = run_squares<square>(stage, *pool, "run there", stage.value(pool_tasks), other, {});
  });
  const bool ends = stage.value(given_up) == GivenUp::ended;
  if (thread && ends) {
    (*thread)->join();
  }
  may_fail(stage.product().operation("give up", [&] { return give_up(stage, pool); }));
  if (thread && !ends) {
    (*thread)->join();
  }
  LASTREF_CHECK(status_of(thread));
  other.must_have(stage.value(pool_tasks));
  if (!pool) {
    make_pool(stage, pool);
  }
  const Status met = must_have_all_workers(stage, *pool);
  return first_failure({there, met, end(stage, pool)});
}

const RegisteredScenario pool_loses_one_task_with_worker([] {
  return Scenario{
      .name = "jobs/pool_loses_one_task_with_worker",
      .sentence =
          "A worker is killed while it runs a task of a pool. That task fails or is tried again, "
          "all others have their results, and another worker replaces the dead one.",
      .rows = {"L1", "L2", "L3", "L5"},
      .roles = pool_roles(root_with_killed_worker, {{"killer", killer}}),
      .parameters = {pool_workers, pool_tasks, pool_retries},
      .failing_operations = {"fail"},
      .stays = {counted_calls},
  };
});

const RegisteredScenario pool_ends_task_at_timeout([] {
  return Scenario{
      .name = "jobs/pool_ends_task_at_timeout",
      .sentence =
          "A task of a pool does not return. At its timeout its worker is killed. That task fails "
          "or is tried again, and all others have their results.",
      .rows = {"L2", "L4", "L5"},
      .roles = pool_roles(root_with_slow_task),
      .parameters = {pool_workers, pool_tasks, pool_retries},
      .failing_operations = {"fail"},
      .stays = {counted_calls},
  };
});

const RegisteredScenario pool_gives_up_tasks([] {
  return Scenario{
      .name = "jobs/pool_gives_up_tasks",
      .sentence =
          "Tasks of a pool are cancelled while they run or wait, or their loop is left, or the "
          "pool ends. They stop at once, a call of another thread is complete, and no worker is "
          "lost.",
      .rows = {"L6", "L10"},
      .roles = pool_roles(root_that_gives_up),
      .parameters = {pool_workers, pool_tasks, given_up},
      .stays = {counted_calls},
  };
});

}  // namespace
}  // namespace lastref::harness
