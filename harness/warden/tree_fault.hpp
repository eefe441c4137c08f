// TreeFault: one bad thing at a system call of a watched process tree.
//
//   child.2/openat(/dev/shm/*)#3 fail ENOSPC     the third such call of this process fails so
//   write(/tmp/*)#2- fail EDQUOT                 each from the second on, of anybody
//   fsync#2-4 fail EIO                           the second, third and fourth
//   unlink#1 kill                                who is the first to make it dies before it
//   sort/write kill                              of any process that runs sort
//   root/rename kill_after                       it dies when it has made it, and does no more
//   write(/tmp/*) shorten                        half of the bytes are written, and it is told so
//   root/flock stop                              it is stopped when it has its lock
//   openat(/dev/shm/a) outsider unlinks          somebody else removes the name just before
//   openat(/dev/shm/b) outsider closes_folder    from there on nobody gets into /dev/shm
//   openat:error=ENOSPC:when=3                   as strace(1) spells it
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <lastref/error.hpp>

namespace lastref::harness::warden {

enum class Strike : std::uint8_t {
  fail,
  shorten,     ///< A write is told that half of it is written, which is so.
  kill,        ///< Before the call
  kill_after,  ///< After it, and before anything else that the thread does
  kill_amid,   ///< When half of a write is written
  kill_tree,
  pause,  ///< The thread waits before the call, until nobody else does anything.
  stop,   ///< SIGSTOP when it has made the call, and SIGCONT when nobody else does anything
  outsider,
};

/// What somebody who is not of the tree does to the name that the call was given, just before it.
enum class Deed : std::uint8_t {
  none,
  unlinks,
  truncates,
  replaces,
  takes_rights,
  plants_link,
  closes_folder,  ///< That the name is in, until the end of the run
};

struct TreeFault {
  static constexpr std::uint64_t for_ever = std::numeric_limits<std::uint64_t>::max();

  std::string role = "*";    ///< A pattern of roles, or of the names of programs
  std::string call;          ///< A row of the table
  std::string object = "*";  ///< A pattern
  std::uint64_t k = 1;       ///< Of those that all this fits, from the k-th
  std::uint64_t last = 1;    ///< to this one
  Strike strike = Strike::kill;
  int error = 0;           ///< If it fails
  Deed deed = Deed::none;  ///< Of an outsider

  bool operator==(const TreeFault&) const = default;
};

/// invalid_argument with what is wrong with it.
Result<TreeFault> parse_tree_fault(std::string_view text);

/// As it is parsed again.
std::string to_text(const TreeFault& fault);

}  // namespace lastref::harness::warden
