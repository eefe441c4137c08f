#include "property_tests/support/exclusive_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace lastref::pretend {

ExclusiveLock::ExclusiveLock(const std::string& folder)
    : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

ExclusiveLock::~ExclusiveLock() {
  ::close(folder_);
}

// Like dir_cleanup in systemd's tmpfiles.c.
bool ExclusiveLock::can_be_had() const {
  return ::flock(folder_, LOCK_EX | LOCK_NB) == 0;
}

void ExclusiveLock::take() const {
  while (::flock(folder_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

void ExclusiveLock::give_back() const {
  ::flock(folder_, LOCK_UN);
}

}  // namespace lastref::pretend
