// TreeUsage: the resources of a program and the processes that it started, seen from outside.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace lastref::bench {

struct ProcessUsage {
  std::uint64_t anonymous = 0;  ///< bytes; not of a file, and private or copied on write
  std::uint64_t dirty = 0;      ///< bytes; written and mapped by no other process; also of files
  std::uint64_t descriptors = 0;
  std::uint64_t live = 0;  ///< bytes allocated and not freed
};

struct TreeUsage {
  std::uint64_t calls = 0;
  /// By role; for several workers the maximum of each figure.
  std::map<std::string, ProcessUsage> processes = {};
  std::uint64_t ledger = 0;  ///< bytes on disk of all ledgers
  std::uint64_t files = 0;   ///< files and folders in folders_of_growth
};

/// The folders in the folder of a kind where files are created.
inline constexpr std::array folders_of_growth = {"run", "temporary", "files"};

/// Examines all processes that have `folder` in their arguments, and the folders in it, once none
/// of the processes has run for a while. The processes first return free memory to the system, as
/// far as the allocator can. So only memory is counted that other processes cannot get.
TreeUsage usage_of(const std::string& folder);
/// The current number of files and folders.
std::uint64_t files_in(const std::string& folder);

/// Starts a thread that answers usage_of. An examined process calls it before it starts other
/// threads.
void answer_usage_requests(const std::string& folder);

/// Waits a while for all of these processes to end; whether they have.
bool are_all_gone(const std::string& folder);

}  // namespace lastref::bench
