// Look: what a program and the processes that it has started have, seen from outside.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace lastref::bench {

struct ProcessLook {
  std::uint64_t anonymous = 0;  ///< bytes; on no file, and this process's alone or copied on write
  std::uint64_t dirty = 0;      ///< bytes; written, and mapped by nobody else: of files too
  std::uint64_t descriptors = 0;
  std::uint64_t live = 0;  ///< bytes that the allocator has given and not got back
};

struct Look {
  std::uint64_t calls = 0;
  /// By what a process is; of several workers the largest of each figure.
  std::map<std::string, ProcessLook> processes = {};
  std::uint64_t ledger = 0;  ///< bytes on disk of all ledgers
  std::uint64_t files = 0;   ///< and folders, wherever ours are made
};

/// The folders below that of a kind where things are made.
inline constexpr std::array folders_of_growth = {"run", "temporary", "files"};

/// Of all processes that name `folder` in their arguments, and of what lies in these, once none of
/// them has done anything for a while. Free memory goes back to the system first, as far as the
/// allocator can give it back: what is looked at is what nobody else can have.
Look look_at(const std::string& folder);
/// How many files and folders there are now.
std::uint64_t files_in(const std::string& folder);

/// In a process that is looked at, before it has any other thread: a thread of its own answers.
void answer_looks(const std::string& folder);

/// Whether none of them is left, soon.
bool are_all_gone(const std::string& folder);

}  // namespace lastref::bench
