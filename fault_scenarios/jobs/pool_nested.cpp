// Typed pools in the workers of others, which call their functions in threads.
#include <numeric>
#include <optional>
#include <vector>

#include "fault_scenarios/support/jobs.hpp"
#include "fault_scenarios/support/pools.hpp"
#include "harness/program/arena.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

int scaled(const int& factor, int number) {
  return factor * number;
}

/// The product of the number and the sum of the numbers below it, from a pool in this worker.
Result<int> sum_in_threads(int number) {
  Stage& stage = *caller_of_task().stage;
  Session session = session_of(stage);
  session.in_worker = true;
  Pool inner(std::move(session), {.workers = stage.value(pool_workers)});
  LASTREF_TRY(all, inner.map<scaled>(number, numbers_below(number)));
  return std::accumulate(all.begin(), all.end(), 0);
}

Status root(Stage& stage) {
  std::optional<Pool> pool;
  make_pool(stage, pool);
  std::vector<int> sums;
  const Status run = stage.product().operation("sum", [&]() -> Status {
    LASTREF_TRY(all, pool->map<sum_in_threads>(numbers_below(stage.value(pool_tasks))));
    sums = std::move(all);
    return ok();
  });
  for (std::size_t index = 0; index < sums.size(); ++index) {
    const auto number = static_cast<int>(index);
    if (sums[index] != number * number * (number - 1) / 2) {
      stage.refute("L2: each result is that of its element", std::to_string(sums[index]));
    }
  }
  return first_failure({run, end(stage, pool)});
}

const RegisteredScenario pool_in_worker_has_threads([] {
  return Scenario{
      .name = "jobs/pool_in_worker_has_threads",
      .sentence =
          "Tasks of a pool make pools of their own. These call their functions in threads of the "
          "worker, and each task has the results of its own pool.",
      .rows = {"L2", "L15"},
      .roles = pool_roles(root),
      .parameters = {pool_workers, pool_tasks},
      .stays = {counted_calls},
  };
});

}  // namespace
}  // namespace lastref::harness
