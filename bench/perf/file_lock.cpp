#include "bench/perf/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace lastref::perf {

FileLock::FileLock(const std::filesystem::path& path)
    : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) {}

FileLock::~FileLock() {
  ::flock(fd_, LOCK_UN);  // A child may still have the descriptor.
  ::close(fd_);
}

bool FileLock::wait_alone(const std::function<void()>& tell) const {
  if (take_alone()) {
    return true;
  }
  tell();
  return ::flock(fd_, LOCK_EX) == 0;
}

bool FileLock::take_alone() const {
  return ::flock(fd_, LOCK_EX | LOCK_NB) == 0;
}

bool FileLock::wait_shared() const {
  return ::flock(fd_, LOCK_SH) == 0;
}

}  // namespace lastref::perf
