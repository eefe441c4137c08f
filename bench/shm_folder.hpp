// ShmFolder: the folder for the files of a benchmark.
#pragma once

#include <cstdint>
#include <string>

namespace lastref::bench {

/// Removes the folders that killed benchmarks have left in /dev/shm.
void remove_what_killed_benches_left();

/// A new folder in /dev/shm, which the destructor removes with its contents. A lock on it shows
/// that it is in use.
class ShmFolder {
 public:
  /// Throws std::system_error if it cannot be created.
  ShmFolder();
  ShmFolder(const ShmFolder&) = delete;
  ShmFolder& operator=(const ShmFolder&) = delete;
  ~ShmFolder();

  const std::string& path() const noexcept { return path_; }
  /// The disk usage of its files.
  std::uint64_t bytes_on_disk() const;

 private:
  std::string path_;
  int lock_ = -1;
};

}  // namespace lastref::bench
