// FileLock: a lock on a file, for processes that would disturb each other. flock(2)
//
// A child that inherits the descriptor keeps the lock if this process is killed. The destructor
// releases the lock even if a daemon among the children still has the descriptor.
#pragma once

#include <filesystem>
#include <functional>

namespace lastref::perf {

class FileLock {
 public:
  /// Creates the file if needed, and does not lock it yet.
  explicit FileLock(const std::filesystem::path& path);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  /// Releases the lock.
  ~FileLock();

  /// Waits for an exclusive lock; calls `tell` before it waits. False if the file cannot be locked.
  bool wait_alone(const std::function<void()>& tell) const;
  /// Takes an exclusive lock if no other process has a lock now.
  bool take_alone() const;
  /// Waits for a shared lock.
  bool wait_shared() const;

  int descriptor() const noexcept { return fd_; }

 private:
  int fd_;
};

}  // namespace lastref::perf
