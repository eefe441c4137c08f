// proc_inspect: reads the arguments of a call from the memory of a process that waits for the
// warden. The process may change what its pointers refer to at any time. A path is therefore what
// was requested, not a guarantee.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/warden/notifier.hpp"
#include "harness/warden/syscalls.hpp"

namespace lastref::harness::warden {

/// Copies this many bytes of a thread's memory. Returns the number copied; -1: not readable.
std::int64_t read_memory(int thread, std::uint64_t address, void* into, std::size_t size);

/// The text at this address of a thread's memory, up to a 0; absent: not readable.
std::optional<std::string> text_at(int thread, std::uint64_t address);

/// "pipe" for "pipe:[17]": the number differs in the next run.
std::string without_number(const std::string& object);

/// The name that a call was given: absolute, without "." and ".."; absent: not readable. With
/// `other_roots`, checks whether the thread has another root than we have.
std::optional<std::string> path_at(const Notification& call,
                                   const NameAt& name,
                                   bool other_roots = false);

/// The 8 bytes at this address of a thread's memory; 0: not readable.
std::uint64_t word_at(int thread, std::uint64_t address);

/// The flags of a call that opens a name. open(2)
std::uint64_t open_flags_of(const Notification& call, const SyscallRow& row);

/// Children of ours that are not part of a tree.
struct UnrelatedChildren {
  std::vector<int> all = {};  ///< Their descendants are excluded, too.
  int init = -1;              ///< Of a namespace; its children are part of the tree.
};

/// Our children, their children, and so on, in no order; without unrelated children.
std::vector<int> descendants(const UnrelatedChildren& unrelated = {});

/// "set-uid", "set-gid": what a program grants to the user that runs it, but not under a filter;
/// absent: it grants nothing. seccomp(2), PR_SET_NO_NEW_PRIVS
std::optional<std::string> lost_rights_of(const Notification& call, const SyscallRow& row);

/// Whether the process may read and write what permissions deny to others. capabilities(7)
bool ignores_rights(int process);

}  // namespace lastref::harness::warden
