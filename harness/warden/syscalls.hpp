// syscalls: the system calls that the warden knows, and the meaning of their arguments.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lastref::harness::warden {

/// What a call does to names, if it succeeds.
enum class Effect : std::uint8_t {
  none,
  opens,  ///< May create the name, depending on its flags.
  makes,  ///< The last of its names.
  makes_sysv,
  moves,    ///< The first name to the second.
  removes,  ///< The name.
  runs,     ///< Runs another program in the process.
  ends,     ///< Ends the process.
  moves_root,
};

/// Where a name is among the arguments of a call. A relative name is below an open folder of the
/// process, or else below its working folder.
struct NameAt {
  int path = -1;  ///< none: -1
  int folder = -1;
  bool in_address = false;  ///< In a socket's address; the next argument is its length. unix(7)
  bool in_queues = false;   ///< A name of a message queue. mq_overview(7)
};

/// By where the object of the call is. Each text has names of errors, separated by one space.
struct LikelyErrors {
  std::array<std::string_view, 6> anywhere = {};
  std::string_view disk = {};     ///< And for network
  std::string_view network = {};  ///< For network alone
  std::string_view stream = {};
};

struct SyscallRow {
  std::string_view name;
  int number = 0;
  Effect effect = Effect::none;
  NameAt first = {};
  NameAt second = {};
  int descriptor = -1;         ///< The argument that is a descriptor; none: -1
  int flags = -1;              ///< Of open(2)
  bool flags_are_far = false;  ///< The argument is the address of the flags. openat2(2)
  int size = -1;               ///< Of the bytes to write; the argument before is their address
  int offset = -1;             ///< The file offset to write at
  /// Programs make it so often that it is watched only if a fault applies to it.
  bool is_frequent = false;
  LikelyErrors errors = {};
};

/// Sorted by name.
std::span<const SyscallRow> syscalls() noexcept;
const SyscallRow* syscall_named(std::string_view name) noexcept;
const SyscallRow* syscall_numbered(int number) noexcept;

}  // namespace lastref::harness::warden
