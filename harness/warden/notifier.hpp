// Notifier: the warden's interface to the kernel. System calls of a process tree that a filter
// selects stop before they have any effect, until the warden decides how they proceed; all others
// run normally. seccomp_unotify(2).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <lastref/error.hpp>

#include "harness/platform/unique_fd.hpp"

namespace lastref::harness::warden {

/// A BPF program in the kernel's format: one instruction per element.
using Filter = std::vector<std::uint64_t>;

/// A filter that stops these system calls of this machine's native architecture. It also stops what
/// is denied to watched processes: io_uring_setup(2), because no filter sees its operations, and
/// seccomp(2) with a listener, because the kernel allows one per process. It also stops all calls
/// of other architectures, and those that set a clock which cannot be seen from outside.
Result<Filter> filter_of(const std::set<int>& numbers);

/// Whether the call sets a clock that may wake a process by a signal and that proc(5) does not
/// show.
bool is_clock(int number) noexcept;

/// To be called in the process that is to be watched, together with its children. Installs the
/// filter and returns the descriptor of the listener, or -1 and errno. Safe between fork and exec.
int take_filter(const Filter& filter) noexcept;

struct Notification {
  std::uint64_t id = 0;
  int thread = 0;                 ///< The thread's number, as the supervisor sees it.
  int number = 0;                 ///< The number of the call
  std::uint64_t instruction = 0;  ///< The address of the one after the call
  /// The call belongs to another ABI, such as the 32-bit calls.
  bool is_foreign = false;
  /// Calls that stopped between the previously received one and this one, and had vanished when we
  /// received: signals interrupted them or killed their threads. The kernel numbers all calls that
  /// stop.
  std::uint64_t gone_before = 0;
  std::array<std::uint64_t, 6> arguments = {};
};

/// The listener. One thread at a time uses it.
class Notifier {
 public:
  /// `may_wake_in_turn` = false: does not use synchronous wake-ups, as on any kernel before 6.6.
  explicit Notifier(UniqueFd listener, bool may_wake_in_turn = true) noexcept;

  /// Whether the waiting and the answering thread alternate on one processor, which is much
  /// cheaper.
  bool wakes_in_turn() const noexcept { return wakes_in_turn_; }
  /// Whether any watched process is left.
  bool has_anybody() const noexcept;
  /// Waits for the next call that stops. EINTR: a signal interrupted us. ENOENT: the calling thread
  /// is dead, a signal interrupted its call, or no watched process is left.
  tl::expected<Notification, int> receive() noexcept;
  /// Whether the call still waits; if so, the memory that was read belonged to its process.
  bool is_waiting(std::uint64_t id) const noexcept;
  /// The kernel executes the call. False if no thread waits for it any more.
  bool let_go(std::uint64_t id) noexcept;
  /// The call fails with this error, and has no other effect.
  bool fail(std::uint64_t id, int error) noexcept;
  /// The call returns this value, and has no other effect.
  bool give(std::uint64_t id, std::int64_t value) noexcept;

 private:
  bool answer(std::uint64_t id, std::int64_t value, int error, std::uint32_t flags) noexcept;

  UniqueFd listener_;
  std::optional<std::uint64_t> last_id_;
  bool wakes_in_turn_;
};

}  // namespace lastref::harness::warden
