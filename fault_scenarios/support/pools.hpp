// pools: shared parts of scenarios about typed pools: a root with a Pool, functions that count
// their calls, and workers.
//
// Calls are counted as files, which remain: a process that is killed has counted what it has done.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <lastref/pool.hpp>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

inline constexpr Parameter<unsigned> pool_workers = {
    .name = "workers", .usual = 2, .values = {1, 2, 3}, .unit = "processes"};
inline constexpr Parameter<int> pool_tasks = {
    .name = "tasks", .usual = 4, .values = {1, 4, 9}, .unit = "elements"};
inline constexpr Parameter<int> pool_retries = {
    .name = "retries", .usual = 0, .values = {0, 1, 2}, .unit = "attempts"};

/// What a scenario with counted calls leaves.
inline constexpr const char* counted_calls = "folder:calls";

/// A root that leads a tree, workers of its pool, and other roles.
std::vector<Role> pool_roles(Body root, std::vector<Role> others = {});

/// The worker that has called a function, which asks for it first. In the simulated kernel, the
/// processes share one: up to the next call of their Os, or of their Stage, it is that of the
/// caller.
struct Caller {
  Stage* stage = nullptr;
  int life = 0;  ///< How many processes of that role have begun.
};
Caller caller_of_task() noexcept;

/// Counts what has this name, and returns how often it was counted.
int count_call(Stage& stage, const std::string& name);
int calls_of(Stage& stage, const std::string& name);
/// The same for the life of this worker.
int count_in_worker(const Caller& worker, const std::string& name);

/// In a task: waits until no other task can begin, and returns how many tasks have begun.
int enter_task(Stage& stage);
void leave_task(Stage& stage);

/// For functions that return the square of a number: counts the call.
int count_square(Stage& stage, int number);

/// A pool in the tree of the stage. Arrays beyond a thousand bytes travel through files.
void make_pool(Stage& stage, std::optional<Pool>& pool, PoolOptions options = {});
[[nodiscard]] Status end(Stage& stage, std::optional<Pool>& pool);

/// 0, 1, ...
std::vector<int> numbers_below(int count);

/// What the tasks of a call with elements 0, 1, ... have returned.
class Tally {
 public:
  Tally(Stage& stage, TaskOptions options) noexcept : stage_(stage), options_(options) {}

  /// Refutes a result that is not the square of its element, and too many calls.
  void add(const Completion<int>& done);
  /// In an undisturbed run, each of the elements must have been completed.
  void must_have(int count) const;

  /// The first error, once.
  Status take_status() noexcept { return std::exchange(status_, ok()); }
  const std::vector<Completion<int>>& failed() const noexcept { return failed_; }

 private:
  Stage& stage_;
  TaskOptions options_;
  std::set<std::size_t> seen_;
  std::vector<Completion<int>> failed_;
  Status status_ = ok();
};

/// Calls f, which returns squares, for 0, 1, ... as an operation, which has the first error.
template <auto f>
Status run_squares(Stage& stage,
                   Pool& pool,
                   const std::string& operation,
                   int count,
                   Tally& tally,
                   TaskOptions options) {
  return stage.product().operation(operation, [&]() -> Status {
    for (const auto& done : pool.as_completed<f>(numbers_below(count), options)) {
      tally.add(done);
    }
    return tally.take_status();
  });
}

/// Fails if not all workers of the pool can run tasks at the same time.
[[nodiscard]] Status must_have_all_workers(Stage& stage, Pool& pool);

}  // namespace lastref::harness
