#include "bench/shm_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace lastref::bench {

ShmFolder::ShmFolder() {
  struct stat status {};
  // Until the folder is locked, another benchmark may remove it as a leftover; then try again.
  while (status.st_nlink == 0) {
    std::array<char, 40> name{"/dev/shm/lastref-bench-XXXXXX"};
    const char* const made = ::mkdtemp(name.data());
    if (made == nullptr) {
      throw std::system_error(errno, std::generic_category(), "no folder in /dev/shm");
    }
    path_ = made;
    ::close(lock_);
    lock_ = ::open(made, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (::flock(lock_, LOCK_EX) != 0 || ::fstat(lock_, &status) != 0) {
      status.st_nlink = 0;
    }
  }
}

ShmFolder::~ShmFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  ::close(lock_);
}

void remove_what_killed_benches_left() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", error)) {
    const std::string name = entry.path().filename().string();
    const int lock =
        name.starts_with("lastref-bench-")
            ? ::open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            : -1;
    // A running benchmark holds the lock; a killed one does not.
    if (lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) == 0) {
      std::filesystem::remove_all(entry.path(), error);
    }
    if (lock >= 0) {
      ::close(lock);
    }
  }
}

std::uint64_t ShmFolder::bytes_on_disk() const {
  std::uint64_t sum = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
    struct stat status {};
    if (::lstat(entry.path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      sum += static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
  }
  return sum;
}

}  // namespace lastref::bench
