// KeyLocks: numbered locks in one file, between all processes and all threads.
//
// A lock is a record lock on one byte, which the kernel drops when its process ends. Record locks
// do not exclude threads of one process, so each process also has a list of its locked numbers. All
// users of the file in a process share it: see ProcessObjects::shared_locks.
//
// A process that waits for another process asks again after 1 ms, then after longer pauses up to 16
// ms: record locks that wait cannot be interrupted. Threads of one process wake each other.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <lastref/error.hpp>
#include <lastref/os.hpp>

#include "impl/tracker/lock_file.hpp"

namespace lastref::cache {

/// Any thread may call.
class KeyLocks : public std::enable_shared_from_this<KeyLocks> {
 public:
  /// A lock that this process holds. The destructor gives it up, but not in a forked child.
  class Held {
   public:
    Held(std::shared_ptr<KeyLocks> locks, std::uint64_t number) noexcept
        : locks_(std::move(locks)), number_(number) {}
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    Held(Held&& other) noexcept = default;
    Held& operator=(Held&& other) = delete;
    ~Held() {
      if (locks_ != nullptr) {
        locks_->unlock(number_);
      }
    }
    /// False in a child that was forked meanwhile.
    bool is_ours() const noexcept { return locks_->is_here(); }

   private:
    std::shared_ptr<KeyLocks> locks_;
    std::uint64_t number_;
  };

  /// Opens the file, which is created if it does not exist.
  ///
  /// Errors          of status_at, open and status.
  static Result<std::shared_ptr<KeyLocks>> open(os::Os& os, const std::string& path);

  /// Waits while another thread or process holds the lock.
  ///
  /// Errors          resource_deadlock_would_occur: this thread holds it; of lock_range;
  ///                 resource_unavailable_try_again: no process holds it, but it cannot be taken.
  Result<Held> lock(std::uint64_t number);
  /// Returns none if another thread or process holds the lock.
  ///
  /// Errors          of lock_range.
  Result<std::optional<Held>> try_lock(std::uint64_t number);

  /// The file, for reading and writing. Closing another descriptor of it would drop the locks.
  os::Fd file() const noexcept { return file_.get(); }
  /// Whether this is the process that opened the file; false in a forked child.
  bool is_here() const noexcept { return os_.process_token() == token_; }

  /// For `open`.
  KeyLocks(os::Os& os, std::string path, tracker::LockFile file)
      : os_(os),
        token_(os.process_token()),
        path_(std::move(path)),
        file_(std::move(file)),
        monitor_(os.make_monitor()) {}
  KeyLocks(const KeyLocks&) = delete;
  KeyLocks& operator=(const KeyLocks&) = delete;
  ~KeyLocks() = default;

 private:
  /// What a thread of this process holds or requests.
  struct Use {
    os::Pid thread = 0;
    bool is_locked = false;
  };

  /// Whether this process locked the byte, which no thread of it has.
  Result<bool> lock_byte(std::uint64_t number);
  void unlock(std::uint64_t number) noexcept;
  Status drop_all() noexcept;

  os::Os& os_;
  std::uint64_t token_;
  std::string path_;
  tracker::LockFile file_;
  std::unique_ptr<os::Monitor> monitor_;
  std::map<std::uint64_t, Use> uses_;  // by number
  bool is_stuck_ = false;              // A number that no thread holds could not be unlocked.
};

}  // namespace lastref::cache
