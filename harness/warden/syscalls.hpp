// syscalls: the system calls that the warden knows, and what their arguments say.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lastref::harness::warden {

/// What a call does to names, if it succeeds.
enum class Effect : std::uint8_t {
  none,
  opens,  ///< May make the name, as its flags say.
  makes,  ///< The last name that it has.
  makes_sysv,
  moves,    ///< The first name to the second.
  removes,  ///< The name.
  runs,     ///< Another program in the process.
  ends,     ///< The process.
  moves_root,
};

/// Where a name is among the arguments of a call; a relative one is below a folder that the process
/// has open, or else below its working folder.
struct NameAt {
  int path = -1;  ///< none: -1
  int folder = -1;
  bool in_address = false;  ///< Of a socket; its length stands behind it. unix(7)
  bool in_queues = false;   ///< Of message queues. mq_overview(7)
};

struct SyscallRow {
  std::string_view name;
  int number = 0;
  Effect effect = Effect::none;
  NameAt first = {};
  NameAt second = {};
  int descriptor = -1;         ///< The argument that is one; none: -1
  int flags = -1;              ///< Of open(2)
  bool flags_are_far = false;  ///< At the address that the argument is. openat2(2)
  int size = -1;               ///< Of the bytes to write, which stand before it
  int offset = -1;             ///< Where they go
  /// Programs make it so often that it is watched only if a fault is at it.
  bool is_frequent = false;
};

/// In the order of their names.
std::span<const SyscallRow> syscalls() noexcept;
const SyscallRow* syscall_named(std::string_view name) noexcept;
const SyscallRow* syscall_numbered(int number) noexcept;

/// Of "ENOSPC"; none: no errno has this name.
std::optional<int> error_named(std::string_view name) noexcept;

}  // namespace lastref::harness::warden
