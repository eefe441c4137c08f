// TreeFault: one bad thing at a system call of a watched process tree.
//
//   child.2/openat(/dev/shm/*)#3 fail ENOSPC     the third such call of this process fails so
//   unlink#1 kill                                who is the first to make it dies before it
//   root/rename kill_after                       it dies when it has made it, and does no more
//   write(/tmp/*) fail_always EDQUOT             each of them, of anybody
//   openat:error=ENOSPC:when=3                   as strace(1) spells it
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <lastref/error.hpp>

namespace lastref::harness::warden {

enum class Strike : std::uint8_t { fail, fail_always, kill, kill_after, kill_tree };

struct TreeFault {
  std::string role = "*";    ///< A pattern
  std::string call;          ///< A row of the table
  std::string object = "*";  ///< A pattern
  std::uint64_t k = 1;       ///< The k-th that all this fits
  Strike strike = Strike::kill;
  int error = 0;

  bool operator==(const TreeFault&) const = default;
};

/// invalid_argument with what is wrong with it.
Result<TreeFault> parse_tree_fault(std::string_view text);

/// As it is parsed again.
std::string to_text(const TreeFault& fault);

}  // namespace lastref::harness::warden
