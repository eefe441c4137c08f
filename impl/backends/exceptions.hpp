// exceptions: calls of code that is not ours and may throw anything.
#pragma once

#include <optional>

#include <lastref/parallel.hpp>
#include <lastref/task.hpp>

namespace lastref::backends {

/// The next task of a source.
///
/// Errors          TransportableException or WorkerInterrupt: the exception of the source;
///                 not_enough_memory.
Outcome<std::optional<Task>> next_task(const TaskSource& source);

/// The exception that is being handled. Makes no system call: if processes are fibers, none may be
/// switched in the middle of a handler.
TaskFailure current_failure() noexcept;

/// The same, with the place where it was caught.
TaskFailure with_context(TaskFailure failure, const char* where) noexcept;

/// The exception of `body`, as a failure; none if it threw nothing.
template <typename Body>
std::optional<TaskFailure> catch_as_failure(Body body, const char* where) noexcept {
  std::optional<TaskFailure> thrown;
  try {
    body();
  } catch (...) {
    thrown = current_failure();
  }
  if (thrown) {
    thrown = with_context(*std::move(thrown), where);
  }
  return thrown;
}

}  // namespace lastref::backends
