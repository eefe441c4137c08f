// PretendProcess: a ScriptedOs that is one of several processes, all of them in one test.
//
// Its pid, its death and its record locks are simulated as well. The locks are in a RecordLocks
// that the processes of a test share. As in the kernel, a lock is dropped when any descriptor of
// its file is closed, and does not block a process with the same pid.
//
// The director is called before every call. It may fail or shorten the call, let the process die
// before or after it, or let another process act first. Calls of a dead process change nothing and
// fail, so that the code under way runs to its end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <lastref/process_objects.hpp>

#include "property_tests/support/scripted_os.hpp"

namespace lastref::pretend {

/// POSIX record locks as in fcntl(2), except that adjacent locks of a process stay separate.
class RecordLocks {
 public:
  struct Lock {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    os::Pid pid = 0;
    os::LockKind kind = os::LockKind::none;
    std::uint64_t start = 0;
    std::uint64_t end = 0;  ///< exclusive
  };

  /// A lock that `wanted` conflicts with; which one of several is unspecified.
  const Lock* in_the_way_of(const Lock& wanted);
  void set(const Lock& wanted);
  void drop(os::Pid pid, const os::FileStatus& file);
  void drop(os::Pid pid);

 private:
  std::vector<Lock> locks_;
  std::size_t turn_ = 0;
};

class PretendProcess final : public ScriptedOs {
 public:
  explicit PretendProcess(RecordLocks& locks, os::Pid pid = 1000) : locks_(locks), pid_(pid) {}
  PretendProcess(const PretendProcess&) = delete;
  PretendProcess& operator=(const PretendProcess&) = delete;
  ~PretendProcess() override { die(); }

  std::function<Decision(const Crossing&)> director;

  /// Closes all its descriptors and drops its locks.
  void die();
  bool is_dead() const noexcept { return dead_; }
  std::size_t open_fds() const noexcept { return fds_.size(); }

  Status close(os::Fd fd) noexcept override;
  Status lock_range(os::Fd fd, const os::LockRange& range) noexcept override;
  Result<std::optional<os::LockHolder>> find_lock(os::Fd fd,
                                                  const os::LockRange& range) noexcept override;
  /// Never waits: if nothing is ready, the clock advances by the timeout.
  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override;
  os::Pid process_id() noexcept override { return pid_; }
  std::uint64_t process_token() noexcept override { return static_cast<std::uint64_t>(pid_); }
  os::Pid thread_id() noexcept override { return pid_; }
  os::ProcessObjects& objects() noexcept override { return objects_.of(*this, process_token()); }

 private:
  Decision decide(const Crossing& crossing) override;
  bool arrives(const Crossing& crossing, const Decision& decision) override;
  void opened(os::Fd fd) override { fds_.push_back(fd); }
  Result<RecordLocks::Lock> lock_of(os::Fd fd, const os::LockRange& range);

  RecordLocks& locks_;
  os::GenerationsOfObjects objects_;
  os::Pid pid_;
  std::vector<os::Fd> fds_;
  bool dead_ = false;
};

}  // namespace lastref::pretend
