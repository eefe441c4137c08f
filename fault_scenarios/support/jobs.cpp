#include "fault_scenarios/support/jobs.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include <lastref/worker.hpp>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/program/arena.hpp"

namespace lastref::harness {
namespace {

constexpr int killed_by = 9;

/// Arrays that outlive their tasks. Several threads of one process may run tasks.
struct Kept {
  std::mutex mutex;
  std::vector<Array> arrays;
};

std::int64_t sum_of(const Array& array) {
  std::int64_t sum = 0;
  for (std::size_t at = 0; at < array.size(); ++at) {
    std::int32_t element = 0;
    std::memcpy(&element, array.data() + at * sizeof element, sizeof element);
    sum += element;
  }
  return sum;
}

}  // namespace

Session session_of(Stage& stage) {
  return {.os = &stage.os(),
          .references = references_of(stage),
          .tree = [&stage] { return stage.product().client().tree(); },
          .in_worker = false};
}

std::shared_ptr<Functions> functions_of(Stage& stage) {
  auto functions = std::make_shared<Functions>();
  const auto kept = std::make_shared<Kept>();
  const auto add = [&](const char* name, TaskFunction function) {
    LASTREF_ASSERT(functions->add(name, std::move(function)).has_value());
  };
  add("sum", [](const TaskContext&, std::span<const Value> arguments) -> Result<Value> {
    LASTREF_TRY(array, arguments.front().as<Array>());
    return Value(sum_of(array));
  });
  add("square", [&stage](const TaskContext&, std::span<const Value> arguments) -> Result<Value> {
    if (!stage.hears_signals()) {
      stage.refute("E6: a thread that runs user code blocks no signal that its starter receives",
                   "it does");
    }
    LASTREF_TRY(number, arguments.front().as<std::int64_t>());
    return Value(number * number);
  });
  add("throw", [](const TaskContext&, std::span<const Value>) -> Result<Value> {
    throw std::runtime_error("thrown by a task");
  });
  add("throw number", [](const TaskContext&, std::span<const Value> arguments) -> Result<Value> {
    LASTREF_TRY(number, arguments.front().as<std::int64_t>());
    throw std::runtime_error(std::to_string(number));
  });
  add("exhaust memory",
      [](const TaskContext&, std::span<const Value>) -> Result<Value> { throw std::bad_alloc(); });
  add("interrupt",
      [](const TaskContext&, std::span<const Value>) -> Result<Value> { throw Interrupt(); });
  add("keep", [kept](const TaskContext&, std::span<const Value> arguments) -> Result<Value> {
    LASTREF_TRY(array, arguments.front().as<Array>());
    const std::lock_guard held(kept->mutex);
    kept->arrays.push_back(array);
    return Value(sum_of(array));
  });
  add("wait", [&stage](const TaskContext&, std::span<const Value>) -> Result<Value> {
    stage.tell("a task is waiting");
    stage.stay_until_killed();
    return Value();
  });
  add("echo", [](const TaskContext&, std::span<const Value> arguments) -> Result<Value> {
    return Value(List(arguments.begin(), arguments.end()));
  });
  return functions;
}

Status work(Stage& stage) {
  may_fail(serve(stage, *functions_of(stage)));
  return ok();
}

Status serve(Stage& stage, const Functions& functions) {
  return stage.product().operation("serve", [&]() -> Status {
    const auto join = [&]() -> Result<Session> {
      LASTREF_CHECK(stage.product().join());
      return session_of(stage);
    };
    const int code = serve_worker(stage.os(), join, functions);
    return code == 0 ? ok() : failure(std::errc::state_not_recoverable, std::to_string(code));
  });
}

ParallelOptions two_workers() {
  // All processors; a run has two.
  return {.n_jobs = -1, .batch_size = 1, .arrays = {.max_nbytes = large}};
}

Jobs::Jobs(Stage& stage, const ParallelOptions& options)
    : stage_(stage),
      parallel_(std::make_unique<Parallel>(session_of(stage), functions_of(stage), options)) {}

Outcome<List> Jobs::run(const std::string& operation, std::vector<Task> tasks) {
  Outcome<List> outcome;
  may_fail(stage_.product().operation(operation, [&] {
    outcome = parallel_->run(std::move(tasks));
    return status_of(outcome);
  }));
  return outcome;
}

Status Jobs::end() {
  return stage_.product().operation("end", [&] {
    parallel_.reset();
    return ok();
  });
}

std::vector<Task> sums_of(const std::vector<Array>& arrays, std::size_t count) {
  std::vector<Task> tasks;
  for (std::size_t at = 0; at < count; ++at) {
    tasks.push_back({.function = "sum", .arguments = {arrays[at % arrays.size()]}});
  }
  return tasks;
}

std::vector<Task> squares(std::size_t count) {
  std::vector<Task> tasks;
  for (std::size_t at = 0; at < count; ++at) {
    tasks.push_back({.function = "square", .arguments = {static_cast<std::int64_t>(at)}});
  }
  return tasks;
}

Status must_call_back_once(Stage& stage, ParallelBackend& backend) {
  Product& product = stage.product();
  constexpr std::size_t batches = 4;
  constexpr std::size_t tasks = 3;
  std::array<std::atomic<int>, batches> calls{};
  std::array<bool, batches> taken{};
  const Status run = product.operation("run batches", [&] {
    std::vector<FuturePtr> futures;
    Outcome<List> last = List();
    for (std::size_t at = 0; at < batches; ++at) {
      auto sent = backend.apply_async(squares(tasks), [&calls, at](BatchOutcome&) { ++calls[at]; });
      taken[at] = sent.has_value();
      if (sent) {
        futures.push_back(*std::move(sent));
      } else {
        last = tl::unexpected(std::move(sent).error());
      }
    }
    Status last_failed = status_of(last);
    for (const FuturePtr& future : futures) {
      may_fail(must_be_squares(stage, future->get()));
      Status again = status_of(future->get());  // A repeated call returns the same.
      if (!again) {
        last_failed = std::move(again);
      }
    }
    return last_failed;
  });
  const Status ended = product.operation("terminate", [&] { return backend.terminate(); });
  for (std::size_t at = 0; at < batches; ++at) {
    if (calls[at] != (taken[at] ? 1 : 0)) {
      stage.refute("B1: an accepted batch calls back once, and no other does",
                   std::to_string(calls[at]) + " calls");
    }
  }
  return first_failure({run, ended});
}

Status must_be_sums(Stage& stage, const Outcome<List>& outcome, const std::vector<Array>& arrays) {
  for (std::size_t at = 0; outcome && at < outcome->size(); ++at) {
    if ((*outcome)[at] != Value(sum_of(arrays[at % arrays.size()]))) {
      stage.refute("no-corruption: each result is that of its task", "another sum");
      break;
    }
  }
  return status_of(outcome);
}

Status must_be_squares(Stage& stage, const Outcome<List>& outcome) {
  for (std::size_t at = 0; outcome && at < outcome->size(); ++at) {
    if ((*outcome)[at] != Value(static_cast<std::int64_t>(at * at))) {
      stage.refute("no-corruption: each result is that of its task", "another square");
      break;
    }
  }
  return status_of(outcome);
}

void must_name_the_dead(Stage& stage, const Outcome<List>& outcome) {
  if (!stage.is_undisturbed()) {
    return;
  }
  const auto* dead = outcome ? nullptr : std::get_if<TerminatedWorker>(&outcome.error());
  if (dead == nullptr || dead->signal() != killed_by) {
    stage.refute("B9: a worker's death fails pending batches with TerminatedWorker",
                 outcome ? "results" : describe(outcome.error()));
  }
}

Status status_of(const Outcome<List>& outcome) {
  const AllocationScope scope(/*is_products=*/false);
  if (outcome) {
    return ok();
  }
  if (const auto* error = std::get_if<Error>(&outcome.error())) {
    return failure(*error);
  }
  const bool is_dead = std::holds_alternative<TerminatedWorker>(outcome.error());
  return failure(is_dead ? std::errc::owner_dead : std::errc::state_not_recoverable,
                 describe(outcome.error()));
}

}  // namespace lastref::harness
