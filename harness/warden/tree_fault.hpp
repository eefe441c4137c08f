// TreeFault: one fault at a system call of a watched process tree.
//
//   child.2/openat(/dev/shm/*)#3 fail ENOSPC     the third such call of this process fails
//   write(/tmp/*)#2- fail EDQUOT                 each from the second on, of any process
//   fsync#2-4 fail EIO                           the second, third and fourth
//   unlink#1 kill                                the first process to make it dies before it
//   sort/write kill                              of any process that runs sort
//   root/rename kill_after                       it dies after the call, before anything else
//   write(/tmp/*) shorten                        half is written, and the call returns that
//   root/flock stop                              it is stopped when it has its lock
//   openat(/dev/shm/a) outsider unlinks          an outsider removes the name just before
//   openat(/dev/shm/b) outsider closes_folder    from then on no process can enter /dev/shm
//   openat:error=ENOSPC:when=3                   strace(1) syntax
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <lastref/error.hpp>

namespace lastref::harness::warden {

enum class Strike : std::uint8_t {
  fail,
  shorten,     ///< Half of a write is written, and the call returns that number.
  kill,        ///< Before the call
  kill_after,  ///< After it, and before anything else that the thread does
  kill_amid,   ///< After half of a write is written
  kill_tree,
  pause,  ///< The thread waits before the call, until there is no other activity.
  stop,   ///< SIGSTOP after the call, and SIGCONT when there is no other activity
  outsider,
};

/// What an outsider, a process that is not part of the tree, does to the name just before the call.
enum class Deed : std::uint8_t {
  none,
  unlinks,
  truncates,
  replaces,
  takes_rights,
  plants_link,
  closes_folder,  ///< The folder that contains the name, until the end of the run
};

struct TreeFault {
  static constexpr std::uint64_t for_ever = std::numeric_limits<std::uint64_t>::max();

  std::string role = "*";    ///< A pattern of roles, or of the names of programs
  std::string call;          ///< The name of a row of the table
  std::string object = "*";  ///< A pattern
  std::uint64_t k = 1;       ///< The first matching call that it applies to
  std::uint64_t last = 1;    ///< and the last one
  Strike strike = Strike::kill;
  int error = 0;           ///< For Strike::fail
  Deed deed = Deed::none;  ///< For Strike::outsider

  bool operator==(const TreeFault&) const = default;
};

/// invalid_argument describes the error in the text.
Result<TreeFault> parse_tree_fault(std::string_view text);

/// In the syntax that parse_tree_fault() accepts.
std::string to_text(const TreeFault& fault);

}  // namespace lastref::harness::warden
