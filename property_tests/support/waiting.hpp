// waiting: waits until something can be read, or until a child has ended. The wait may be
// indefinite: a test that waits for what never comes is ended from outside.
#pragma once

#include <lastref/os.hpp>

namespace lastref::pretend {

/// Returns when there are bytes, a connection, a message or an end to be read.
///
/// Errors          those of poll, except interrupted.
Status wait_until_readable(os::Os& os, os::Fd fd);

/// Reads as many bytes as there is space for, however many reads that takes; false at the end.
bool read_all(os::Os& os, os::Fd fd, os::Buffer into);

/// The exit of a child that was spawned, once it has ended. `process` is the pidfd from spawn.
///
/// Errors          those of poll and wait_child.
Result<os::ChildExit> wait_for(os::Os& os, os::Fd process);

}  // namespace lastref::pretend
