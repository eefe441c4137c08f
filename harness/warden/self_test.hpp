// self_test: whether the warden works as documented on this machine. A tiny program makes each call
// that the warden knows. The call must be seen, must fail as injected, and must be the last call of
// the program when the program is killed before or after it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lastref::harness::warden {

struct SelfTest {
  std::size_t calls = 0;
  std::vector<std::string> complaints;  ///< "openat: killed after it: root: exit 0"
  std::string impossible;               ///< Why nothing can be watched; empty: it can.
};

/// `program` makes the calls; empty: the one in the folder of this program.
SelfTest self_test(std::string program = {});

}  // namespace lastref::harness::warden
