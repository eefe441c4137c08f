// Operations: what is done on hot paths, to be counted by whoever runs the program lastref_counted.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lastref/os.hpp>
#include <lastref/task.hpp>

namespace lastref::bench {

/// Where operations are done.
struct Place {
  os::Os& os;
  std::shared_ptr<const Functions> functions;
  std::string folder;  ///< for files that nobody else makes
};

struct Operation {
  std::string_view name;
  std::string_view what;
  /// Makes what is needed, and does the operation `rounds` times, each in a Marked of its own.
  void (*perform)(const Place& place);
  /// Why the pages that it touches first are not always as many; empty if they are.
  std::string_view faults_vary = {};
  /// How a process ended that is nobody's child is asked of the kernel, which tells since Linux
  /// 6.15: left out where it does not.
  bool tells_ends = false;
};

/// All of them, in the order of the table.
std::vector<Operation> operations();
std::span<const Operation> operations_on_names();
std::span<const Operation> operations_on_arrays();
std::span<const Operation> operations_with_tasks();
std::span<const Operation> operations_on_caches();

/// What the tasks call.
std::shared_ptr<const Functions> functions_of_operations();

/// The other end of an array's journey: a member of the tree, which loads each that it is sent.
int receive_counted(os::Os& os, const std::string& tree);

}  // namespace lastref::bench
