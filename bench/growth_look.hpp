// Look: what a program and the processes that it has started have, seen from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace lastref::bench {

struct ProcessLook {
  std::uint64_t anonymous = 0;  ///< bytes; on no file, and this process's alone or copied on write
  std::uint64_t dirty = 0;      ///< bytes; written, and mapped by nobody else: of files too
  std::uint64_t descriptors = 0;
};

struct Look {
  std::uint64_t calls = 0;
  std::uint64_t live = 0;  ///< bytes that the program's allocator has given and not got back
  /// By what a process is; of several workers the largest of each figure.
  std::map<std::string, ProcessLook> processes = {};
  std::uint64_t ledger = 0;  ///< bytes of all ledgers
  std::uint64_t files = 0;   ///< and folders, wherever ours are made
};

/// Of all processes that name `folder` in their arguments, and of what lies below it, once none of
/// them has done anything for a while.
Look look_at(const std::string& folder);

/// Whether none of them is left, soon.
bool are_all_gone(const std::string& folder);

}  // namespace lastref::bench
