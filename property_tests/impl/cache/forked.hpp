// forked: a copy of the test's process, for a limited time; and the memory that a process holds.
#pragma once

#include <cstddef>
#include <functional>

namespace lastref::pretend {

/// How a copy ended: by SIGKILL, or with the result of its body.
struct ForkedEnd {
  bool was_killed = false;
  bool said = false;
};

/// Forks; the copy runs `body`, and ends without the actions of exit(3). Returns when it has ended.
ForkedEnd run_forked(const std::function<bool()>& body);

/// SIGKILLs the calling process.
void die();

/// bytes allocated now. mallinfo(3); 0 where a sanitizer allocates.
std::size_t heap();

}  // namespace lastref::pretend
