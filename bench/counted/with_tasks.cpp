// Operations with tasks in worker processes.
#include <lastref/parallel.hpp>

#include "bench/counted/mark.hpp"
#include "bench/counted/operations.hpp"
#include "bench/other_process.hpp"

namespace lastref::bench {
namespace {

constexpr std::size_t many = 100;    // tasks, one per message
constexpr std::size_t batch = 1000;  // tasks

/// A session with a running tracker; its tree outlives all pools.
Session lasting_session(const Place& place) {
  Session session = Session::lead(place.os);
  static_cast<void>(must(session.tree()));
  return session;
}

/// Fixed batch sizes, which do not depend on the clock.
ParallelOptions batches_of(std::size_t tasks) {
  return {.n_jobs = 2, .batch_size = tasks};
}

void run(Parallel& parallel, std::size_t tasks) {
  must(parallel.run(std::vector(tasks, Task{"echo", {std::int64_t{1}}})));
}

void run_again(const Place& place, const ParallelOptions& options, std::size_t tasks) {
  Parallel parallel(lasting_session(place), place.functions, options);
  for (int round = 0; round < rounds; ++round) {
    const Marked marked;
    run(parallel, tasks);
  }
}

void one_task(const Place& place) {
  run_again(place, batches_of(1), 1);
}

void two_tasks(const Place& place) {
  run_again(place, batches_of(1), 2);
}

void many_tasks(const Place& place) {
  run_again(place, batches_of(1), many);
}

void one_batch(const Place& place) {
  run_again(place, batches_of(batch), batch);
}

void start_pools(const Place& place) {
  const Session session = lasting_session(place);
  for (int round = 0; round < rounds; ++round) {
    std::unique_ptr<Parallel> parallel;
    const Marked marked;
    parallel = std::make_unique<Parallel>(session, place.functions, batches_of(1));
    run(*parallel, 2);
  }
}

void end_pools(const Place& place) {
  const Session session = lasting_session(place);
  for (int round = 0; round < rounds; ++round) {
    auto parallel = std::make_unique<Parallel>(session, place.functions, batches_of(1));
    run(*parallel, 2);
    const Marked marked;
    parallel.reset();
  }
}

constexpr std::string_view as_mapped = "how many pages are mapped with one is the kernel's choice";

constexpr Operation all[] = {
    {"pool_start",
     "two workers start in a tree that is there, and do a task each",
     start_pools,
     as_mapped},
    {"pool_start_6.15",
     "the same, where Linux reports how a worker ended",
     start_pools,
     as_mapped,
     /*tells_ends=*/true},
    {"pool_end", "two workers end", end_pools, as_mapped},
    {"pool_end_6.15",
     "the same, where Linux reports how a worker ended",
     end_pools,
     as_mapped,
     /*tells_ends=*/true},
    {"one_task", "a call of one task, with two workers", one_task},
    {"two_tasks", "a call of two tasks, with two workers", two_tasks},
    {"many_tasks",
     "a call of 100 tasks, one a message, with two workers",
     many_tasks,
     "results take a page of the heap now and then"},
    {"one_batch", "a call of 1000 tasks in one message, with two workers", one_batch},
};

}  // namespace

std::span<const Operation> operations_with_tasks() {
  return all;
}

std::shared_ptr<const Functions> functions_of_operations() {
  auto functions = std::make_shared<Functions>();
  must(functions->add("echo", [](const auto&, std::span<const Value> arguments) -> Result<Value> {
    return arguments[0];
  }));
  return functions;
}

}  // namespace lastref::bench
