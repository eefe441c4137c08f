#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

#include <lastref/parallel.hpp>

#include "bench/growth_kinds.hpp"

namespace lastref::bench {
namespace {

constexpr std::size_t small_array = 4096;                   // bytes; beyond `limit`, so mapped
constexpr std::size_t large_array = std::size_t{1} << 20U;  // bytes
constexpr std::uint64_t limit = 1000;                       // bytes

Array new_array(std::size_t size) {
  return must(Array::zeros(must(DType::parse("|u1")), {size}));
}

Outcome<List> call_one(Parallel& parallel, const Task& task) {
  return parallel.run(std::vector{task});
}

template <BackendKind kind>
void calls_of_one_task(const Site& site, Calls& calls) {
  Parallel parallel(Session::lead(site.os), site.functions, {.n_jobs = 2, .backend = kind});
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    must(call_one(parallel, {"echo", {std::int64_t{1}}}));
  }
}

template <BackendKind kind>
void calls_that_fail(const Site& site, Calls& calls) {
  Parallel parallel(Session::lead(site.os), site.functions, {.n_jobs = 2, .backend = kind});
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    if (call_one(parallel, {"throw"})) {
      give_up("a task that throws has results");
    }
  }
}

void calls_with_arrays(const Site& site, Calls& calls) {
  Parallel parallel(
      Session::lead(site.os), site.functions, {.n_jobs = 2, .arrays = {.max_nbytes = limit}});
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    must(call_one(parallel, {"size_of", {new_array(small_array)}}));
  }
}

void calls_with_one_array(const Site& site, Calls& calls) {
  Parallel parallel(
      Session::lead(site.os), site.functions, {.n_jobs = 2, .arrays = {.max_nbytes = limit}});
  const Array array = new_array(small_array);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    must(call_one(parallel, {"size_of", {array}}));
  }
}

void calls_by_value(const Site& site, Calls& calls) {
  Parallel parallel(Session::lead(site.os),
                    site.functions,
                    {.n_jobs = 2, .arrays = {.max_nbytes = std::nullopt}});
  const Array array = new_array(large_array);
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    must(call_one(parallel, {"echo", {array}}));
  }
}

/// One call with all tasks. Its results are freed before it is examined.
template <BackendKind kind>
void tasks(const Site& site, Calls& calls) {
  Parallel parallel(Session::lead(site.os), site.functions, {.n_jobs = 2, .backend = kind});
  for (const std::uint64_t count : {calls.plan().first, calls.plan().last}) {
    must(parallel.run([left = count]() mutable -> std::optional<Task> {
      return left-- > 0 ? std::optional(Task{"echo", {std::int64_t{1}}}) : std::nullopt;
    }));
    calls.look(count);
  }
}

/// A pool that starts, runs a task and ends, in a lasting tree.
void pools(const Site& site, Calls& calls) {
  const Session session = Session::lead(site.os);
  static_cast<void>(must(session.tree()));
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    Parallel parallel(session, site.functions, {.n_jobs = 2});
    must(call_one(parallel, {"echo", {std::int64_t{1}}}));
  }
}

/// A program that gets its session each time and releases it.
void sessions(const Site& site, Calls& calls) {
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    Parallel parallel(Session::lead(site.os), site.functions, {.n_jobs = 2});
    must(call_one(parallel, {"echo", {std::int64_t{1}}}));
  }
}

/// Calls of a task that kills its worker.
void deaths(const Site& site, Calls& calls) {
  Parallel parallel(Session::lead(site.os), site.functions, {.n_jobs = 2});
  for (std::uint64_t call = 0; calls.go_on(call); ++call) {
    if (call_one(parallel, {"die"})) {
      give_up("a task that dies has results");
    }
  }
}

/// Buffers for batches that have grown: 1 MiB for each of two workers.
constexpr std::uint64_t inboxes = std::uint64_t{2} << 20U;

constexpr Kind all[] = {
    {"sequential",
     "a call of one task, in the caller",
     unlimited,
     true,
     calls_of_one_task<BackendKind::sequential>},
    {"threads",
     "a call of one task, in threads",
     unlimited,
     true,
     calls_of_one_task<BackendKind::threads>},
    {"processes",
     "a call of one task, in processes",
     unlimited,
     true,
     calls_of_one_task<BackendKind::processes>},
    {"sequential_failures",
     "a call that fails, in the caller",
     unlimited,
     true,
     calls_that_fail<BackendKind::sequential>},
    {"thread_failures",
     "a call that fails, in threads",
     unlimited,
     false,
     calls_that_fail<BackendKind::threads>},
    {"process_failures",
     "a call that fails, in processes",
     unlimited,
     false,
     calls_that_fail<BackendKind::processes>},
    {"process_arrays", "a call with a new array", unlimited, false, calls_with_arrays},
    {"process_one_array", "a call with the same array", unlimited, false, calls_with_one_array},
    {"process_values",
     "a call with 1 MiB by value, both ways",
     unlimited,
     false,
     calls_by_value,
     inboxes},
    {"sequential_tasks",
     "a task of one call, in the caller",
     unlimited,
     true,
     tasks<BackendKind::sequential>},
    {"thread_tasks",
     "a task of one call, in threads",
     unlimited,
     true,
     tasks<BackendKind::threads>},
    {"process_tasks",
     "a task of one call, in processes",
     unlimited,
     true,
     tasks<BackendKind::processes>,
     inboxes,
     std::uint64_t{16} << 20U},
    {"deaths", "a call that kills its worker", unlimited, false, deaths},
    {"pools", "a pool that starts and ends", unlimited, false, pools},
    {"sessions", "a tree and a pool that start and end", 10'000, false, sessions},
};

Result<Value> echo(const TaskContext&, std::span<const Value> arguments) {
  return arguments[0];
}

Result<Value> size_of(const TaskContext&, std::span<const Value> arguments) {
  LASTREF_TRY(array, arguments[0].as<Array>());
  return static_cast<std::int64_t>(array.size());
}

}  // namespace

std::span<const Kind> kinds_of_calls() {
  return all;
}

std::shared_ptr<const Functions> functions_of_growth() {
  auto functions = std::make_shared<Functions>();
  must(functions->add("echo", echo));
  must(functions->add("size_of", size_of));
  must(functions->add("die", [](const auto&, auto) -> Result<Value> { ::_exit(1); }));
  must(functions->add("throw", [](const auto&, auto) -> Result<Value> {
    throw std::runtime_error("as it should");
  }));
  return functions;
}

}  // namespace lastref::bench
