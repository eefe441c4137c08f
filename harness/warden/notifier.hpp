// Notifier: the kernel's side of the warden. System calls of a process tree that a filter picks
// stop before they do anything, until somebody says how they go on; all others run as ever.
// seccomp_unotify(2).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <lastref/error.hpp>

namespace lastref::harness::warden {

/// A program for the kernel, as it takes it: one step each.
using Filter = std::vector<std::uint64_t>;

/// A filter that stops these system calls of this machine's own kind, and besides them what
/// nobody may have who is watched: io_uring_setup(2), as no filter sees its work, and seccomp(2)
/// for a listener of its own, as the kernel has one for a process; all calls of other kinds; and
/// those that set a clock which nobody sees from outside.
Result<Filter> filter_of(const std::set<int>& numbers);

/// Whether the call sets a clock whose signal may wake a process, and which proc(5) does not show.
bool is_clock(int number) noexcept;

/// In the process that is to be watched, and whose children are: takes the filter, and says the
/// descriptor of the listener, or -1 and errno. Safe between fork and exec.
int take_filter(const Filter& filter) noexcept;

struct Notification {
  std::uint64_t id = 0;
  int thread = 0;  ///< Its number, as the supervisor sees it.
  int number = 0;  ///< of the call
  /// Its number is one of another kind, as the 32-bit calls' are.
  bool is_foreign = false;
  /// Calls that stopped between the one received before and this one, and were gone when we looked:
  /// signals took them back, or killed who made them. The kernel numbers all calls that stop.
  std::uint64_t gone_before = 0;
  std::array<std::uint64_t, 6> arguments = {};
};

/// The listener. One thread at a time uses it.
class Notifier {
 public:
  /// Unless it may, it does not run by turns, as no kernel before 6.6 does it.
  explicit Notifier(int descriptor, bool may_wake_in_turn = true) noexcept;
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;
  ~Notifier();

  /// Whether who waits and who answers run on one processor by turns, which is much cheaper.
  bool wakes_in_turn() const noexcept { return wakes_in_turn_; }
  /// Whether there is somebody left to watch.
  bool has_anybody() const noexcept;
  /// Waits for the next call that stops. EINTR if a signal comes to us, ENOENT if who made it is
  /// dead, or a signal took it back, and where there is nobody left.
  tl::expected<Notification, int> receive() noexcept;
  /// Whether the call still waits, so that what was read of its process was read of it.
  bool is_waiting(std::uint64_t id) const noexcept;
  /// The kernel goes on with it. False if nobody waits for that any more.
  bool let_go(std::uint64_t id) noexcept;
  /// It fails so, and nothing else happens.
  bool fail(std::uint64_t id, int error) noexcept;
  /// It gives this, and nothing else happens.
  bool give(std::uint64_t id, std::int64_t value) noexcept;

 private:
  bool answer(std::uint64_t id, std::int64_t value, int error, std::uint32_t flags) noexcept;

  int descriptor_;
  std::optional<std::uint64_t> last_id_;
  bool wakes_in_turn_;
};

}  // namespace lastref::harness::warden
