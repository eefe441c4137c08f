// warden: runs a program that nobody here wrote, and sees from outside which names its whole tree
// of processes makes, moves and removes; strikes a call of one of them with a fault; and says what
// was left behind, and by whom.
//
// Only calls that a filter names stop for the warden, and all else runs at native speed. It looks
// at what they were given, and lets the kernel go on with them; it never writes to another's
// memory. It sees calls, and no store to memory that is mapped.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lastref/error.hpp>
#include <lastref/os.hpp>

#include "harness/warden/names_ledger.hpp"
#include "harness/warden/roles_of_tree.hpp"
#include "harness/warden/tree_fault.hpp"

namespace lastref::harness::warden {

struct WatchOptions {
  std::vector<std::string> command;  ///< Looked up as a shell does
  std::vector<TreeFault> faults;
  bool wants_calls = false;
  /// What is left of the tree may live so long after its root.
  std::chrono::milliseconds grace{5000};
  /// Asked now and then: whether somebody wants it to end now.
  std::function<bool()> is_interrupted = [] { return false; };
};

/// "child.2/openat(/dev/shm/a)#3": the third such call of this process with this object.
struct CallSeen {
  std::string role;
  std::string_view call;
  std::string object;
  std::uint64_t k = 0;
};

struct Watched {
  os::ChildExit root;  ///< How it ended
  std::vector<ProcessSeen> processes;
  std::vector<CallSeen> calls;  ///< If they were wanted
  std::vector<Leftover> leftovers;
  std::vector<ProcessSeen> stayed;  ///< Lived longer than they may, and were killed.
  std::vector<bool> struck;         ///< One a fault
  std::uint64_t stops = 0;          ///< Calls that stopped for the warden
  /// Those that a signal took back, or whose process died, while they waited. A signal may do what
  /// it does not do to a program that nobody watches, so such a run says less.
  std::uint64_t perturbed = 0;
  bool interrupted = false;
};

/// Fails if the program cannot be run, or cannot be watched here.
Result<Watched> watch(const WatchOptions& options);

}  // namespace lastref::harness::warden
