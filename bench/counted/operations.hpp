// Operations: the operations of hot paths; `lastref perf counters` counts their calls.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <lastref/os.hpp>
#include <lastref/task.hpp>

namespace lastref::bench {

/// The environment of the operations.
struct Place {
  os::Os& os;
  std::shared_ptr<const Functions> functions;
  std::string folder;  ///< for files of this operation only
};

struct Operation {
  std::string_view name;
  std::string_view what;
  /// Prepares the operation and does it `rounds` times, each time with its own Marked.
  void (*perform)(const Place& place);
  /// Why the number of its page faults varies; empty if it does not.
  std::string_view faults_vary = {};
  /// Whether it asks the kernel for the exit status of a process that is not its child. Linux
  /// supports that since 6.15; on older kernels the operation is left out.
  bool tells_ends = false;
};

/// All operations, in the order of the table.
std::span<const Operation> operations();

/// The functions that the tasks call.
std::shared_ptr<const Functions> functions_of_operations();

/// The receiver of arrays: a member of the tree, which loads each array that it gets.
int receive_counted(os::Os& os, const std::string& tree);

}  // namespace lastref::bench
