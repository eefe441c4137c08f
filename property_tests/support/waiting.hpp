// waiting: until something is there to be read, and until a child has ended. For ever, if need be:
// a test that waits for what does not come is ended from outside.
#pragma once

#include <lastref/os.hpp>

namespace lastref::pretend {

/// Returns when there are bytes, a connection, a message or an end to be read.
///
/// Errors          what poll said, but for interrupted.
Status wait_until_readable(os::Os& os, os::Fd fd);

/// Reads as many bytes as there is space for, however many reads that takes; false at the end.
bool read_all(os::Os& os, os::Fd fd, os::Buffer into);

/// How a child that was spawned ended, when it has, from the pidfd that spawn gave.
///
/// Errors          what poll and wait_child said.
Result<os::ChildExit> wait_for(os::Os& os, os::Fd process);

}  // namespace lastref::pretend
