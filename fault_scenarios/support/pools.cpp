#include "fault_scenarios/support/pools.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/jobs.hpp"
#include "harness/program/arena.hpp"

namespace lastref::harness {
namespace {

/// More than any pool has at a time, with workers that are about to exit.
constexpr int worker_roles = 9;

thread_local Caller caller;  // Worlds run in several threads.

std::string folder_of_calls(Stage& stage) {
  return stage.folder() + "/calls";
}

/// Whether all others run at the same time.
bool meets(int count, int number) {
  Stage& stage = *caller_of_task().stage;
  stage.tell("task " + std::to_string(number) + " is here");
  bool all = true;
  for (int other = 0; other < count; ++other) {
    all = stage.await("task " + std::to_string(other) + " is here") && all;
  }
  return all;
}

Status work_for_pool(Stage& stage) {
  const Caller self{.stage = &stage, .life = count_call(stage, "life of " + stage.role())};
  may_fail(serve(stage, *typed_functions([self] { caller = self; })));
  return ok();
}

}  // namespace

std::vector<Role> pool_roles(Body root, std::vector<Role> others) {
  others.push_back({"root", [root = std::move(root)](Stage& stage) -> Status {
                      stage.outside().make_folder(folder_of_calls(stage), 0700);
                      LASTREF_CHECK(stage.product().lead());
                      return root(stage);
                    }});
  for (int number = 1; number <= worker_roles; ++number) {
    others.push_back({"worker_" + std::to_string(number), work_for_pool});
  }
  return others;
}

Caller caller_of_task() noexcept {
  return caller;
}

int calls_of(Stage& stage, const std::string& name) {
  const AllocationScope scope(/*is_products=*/false);
  return static_cast<int>(
      std::ranges::count_if(stage.outside().list(folder_of_calls(stage)),
                            [&](const std::string& file) { return file.starts_with(name + '.'); }));
}

int count_call(Stage& stage, const std::string& name) {
  const AllocationScope scope(/*is_products=*/false);
  const int call = calls_of(stage, name) + 1;
  stage.outside().write(folder_of_calls(stage) + '/' + name + '.' + std::to_string(call), "");
  return call;
}

int count_in_worker(const Caller& worker, const std::string& name) {
  const AllocationScope scope(/*is_products=*/false);
  return count_call(*worker.stage,
                    name + " of " + worker.stage->role() + ' ' + std::to_string(worker.life));
}

int enter_task(Stage& stage) {
  const AllocationScope scope(/*is_products=*/false);
  stage.outside().write(folder_of_calls(stage) + "/running." + stage.role(), "");
  stage.wait_for_quiet();
  return calls_of(stage, "running");
}

void leave_task(Stage& stage) {
  const AllocationScope scope(/*is_products=*/false);
  stage.outside().unlink(folder_of_calls(stage) + "/running." + stage.role());
}

int count_square(Stage& stage, int number) {
  return count_call(stage, "square " + std::to_string(number));
}

void make_pool(Stage& stage, std::optional<Pool>& pool, PoolOptions options) {
  options.workers = stage.value(pool_workers);
  options.arrays.max_nbytes = large;
  pool.emplace(session_of(stage), std::move(options));
}

Status end(Stage& stage, std::optional<Pool>& pool) {
  return stage.product().operation("end", [&] {
    pool.reset();
    return ok();
  });
}

std::vector<int> numbers_below(int count) {
  const AllocationScope scope(/*is_products=*/false);
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

void Tally::add(const Completion<int>& done) {
  const AllocationScope scope(/*is_products=*/false);
  const auto number = static_cast<int>(done.index);
  if (done.result && *done.result != number * number) {
    stage_.refute("L2: each result is that of its element", std::to_string(*done.result));
  }
  if (done.attempts > options_.retries + 1) {
    stage_.refute("L5: a task has one attempt, and its retries",
                  std::to_string(done.attempts) + " attempts");
  }
  const int calls = calls_of(stage_, "square " + std::to_string(number));
  if (done.attempts > 0 && calls > done.attempts) {
    stage_.refute("L5: each attempt calls the function at most once",
                  std::to_string(calls) + " calls in " + std::to_string(done.attempts) +
                      " attempts of task " + std::to_string(number));
  }
  if (done.result && !seen_.insert(done.index).second) {
    stage_.refute("L2: each task is completed once", "task " + std::to_string(number));
  }
  if (!done.result) {
    status_ = status_ ? status_of(done.result) : status_;
    failed_.push_back(done);
  }
}

void Tally::must_have(int count) const {
  const std::size_t all = seen_.size() + failed_.size();
  if (stage_.is_undisturbed() && all != static_cast<std::size_t>(count)) {
    stage_.refute("L2: each task is completed",
                  std::to_string(all) + " of " + std::to_string(count));
  }
}

Status must_have_all_workers(Stage& stage, Pool& pool) {
  const int workers = static_cast<int>(stage.value(pool_workers));
  return stage.product().operation("meet", [&]() -> Status {
    LASTREF_TRY(each, pool.map<meets>(workers, numbers_below(workers)));
    // In an unusual schedule, a task may wait in vain for one that is not sent yet.
    return std::ranges::find(each, false) == each.end()
               ? ok()
               : failure(std::errc::resource_unavailable_try_again, "tasks that run at a time");
  });
}

}  // namespace lastref::harness
