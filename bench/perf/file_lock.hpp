// FileLock: one file, which processes that would disturb each other lock. flock(2)
//
// A child that is given the descriptor goes on holding the lock if we are killed. When we go by
// ourselves nobody has it, whatever daemons there are among its children.
#pragma once

#include <filesystem>
#include <functional>

namespace lastref::perf {

class FileLock {
 public:
  /// Makes the file if need be, and locks nothing yet.
  explicit FileLock(const std::filesystem::path& path);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  /// Gives up what was taken.
  ~FileLock();

  /// Alone, once nobody else has it; calls `tell` before it waits. False if it cannot be locked.
  bool wait_alone(const std::function<void()>& tell) const;
  /// Alone, if nobody else has it now.
  bool take_alone() const;
  /// With others who share it, once nobody has it alone.
  bool wait_shared() const;

  int descriptor() const noexcept { return fd_; }

 private:
  int fd_;
};

}  // namespace lastref::perf
