// forked: a copy of the test's process, for a while; and what a process holds.
#pragma once

#include <cstddef>
#include <functional>

namespace lastref::pretend {

/// How a copy ended: by SIGKILL, or with what its body said.
struct ForkedEnd {
  bool was_killed = false;
  bool said = false;
};

/// Forks; the copy runs `body`, and ends without what exit(3) does. Returns when it has ended.
ForkedEnd run_forked(const std::function<bool()>& body);

/// SIGKILLs the calling process.
void die();

/// bytes that are allocated now. mallinfo(3); none where a sanitizer allocates.
std::size_t heap();

}  // namespace lastref::pretend
