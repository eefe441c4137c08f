// safely: calls of what is not ours and may throw, whatever it is.
#pragma once

#include <optional>

#include <lastref/parallel.hpp>
#include <lastref/task.hpp>

namespace lastref::backends {

/// The next task of a source.
///
/// Errors          TransportableException or WorkerInterrupt: what it threw; not_enough_memory.
Outcome<std::optional<Task>> ask_safely(const TaskSource& source);

/// What is being handled. Crosses to no kernel: where processes are fibers, none may be switched in
/// the middle of a handler.
Failure caught() noexcept;

/// The same, with where it was caught.
Failure placed(Failure failure, const char* where) noexcept;

/// What `body` has thrown, as a failure; none if it has not.
template <typename Body>
std::optional<Failure> thrown_by(Body body, const char* where) noexcept {
  std::optional<Failure> thrown;
  try {
    body();
  } catch (...) {
    thrown = caught();
  }
  if (thrown) {
    thrown = placed(*std::move(thrown), where);
  }
  return thrown;
}

}  // namespace lastref::backends
