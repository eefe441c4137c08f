// safely: calls of what is not ours and may throw.
#pragma once

#include <lastref/parallel.hpp>
#include <lastref/task.hpp>

namespace lastref::backends {

/// The next task of a source.
///
/// Errors          TransportableException or WorkerInterrupt: what it threw.
Outcome<std::optional<Task>> ask_safely(const TaskSource& source);

}  // namespace lastref::backends
