// TreeFault: one fault at a system call of a watched process tree.
//
//   child.2/openat(/dev/shm/*)#3 fail_once ENOSPC    the third such call of this process fails
//   write(/tmp/*)#2 fail_always EDQUOT               each from the second on, of any process
//   fsync#2-4 fail_once EIO                          the second, third and fourth
//   unlink kill_before                               the first process to make it dies before it
//   sort/write kill_before whole_tree                with it all others; any process that runs sort
//   *-m job*/unlink kill_before                      any process with such a command line
//   root/connect pause 5                             it returns 5 s later
//   root/flock stop                                  it is stopped when it has its lock
//   root/mkdir send_sigterm                          it gets SIGTERM when the folder exists
//   openat(/dev/shm/a) outsider_unlink               an outsider removes the name just before
//   openat:error=ENOSPC:when=3                       strace(1) syntax: the third of each thread
//
// A text that leaves out the role or the object means any; without a number, the first such call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <lastref/error.hpp>

#include "harness/scenario/fault_text.hpp"

namespace lastref::harness::warden {

struct TreeFault {
  static constexpr std::uint64_t no_end = CallRange::no_end;

  /// A pattern of roles, of the names of programs, or of their arguments with spaces between them
  std::string role = "*";
  std::string call;          ///< The name of a row of the table
  std::string object = "*";  ///< A pattern
  std::uint64_t k = 1;       ///< The first matching call that it applies to
  std::uint64_t last = 1;    ///< and the last one
  FaultAction action = {};
  bool is_of_strace = false;  ///< Counts the calls of each thread, not those of all processes

  bool operator==(const TreeFault&) const = default;
};

/// Whether only half of the bytes are written.
bool is_cut(FaultKind kind) noexcept;

/// invalid_argument describes the error in the text.
Result<TreeFault> parse_tree_fault(std::string_view text);

/// In the syntax that parse_tree_fault() accepts.
std::string to_text(const TreeFault& fault);

}  // namespace lastref::harness::warden
