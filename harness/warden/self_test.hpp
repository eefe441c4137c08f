// self_test: whether the warden does here what it says. A tiny program makes each call that it
// knows: it has to be seen, to fail as it is told to, and to be the last thing that the program
// does, and the last but one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lastref::harness::warden {

struct SelfTest {
  std::size_t calls = 0;
  std::vector<std::string> complaints;  ///< "openat: killed after it: root: exit 0"
  std::string impossible;               ///< Why nothing can be watched here; empty: it can.
};

/// With the program that makes the calls; not given: the one beside this program.
SelfTest self_test(std::string program = {});

}  // namespace lastref::harness::warden
