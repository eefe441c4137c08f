// ShmFolder: where a bench has its files.
#pragma once

#include <cstdint>
#include <string>

namespace lastref::bench {

/// What benches that were killed have left on shared memory.
void remove_what_killed_benches_left();

/// A folder of its own on shared memory, which goes with all that is in it. A lock on it says that
/// somebody is at work there.
class ShmFolder {
 public:
  /// Throws std::system_error if there can be none.
  ShmFolder();
  ShmFolder(const ShmFolder&) = delete;
  ShmFolder& operator=(const ShmFolder&) = delete;
  ~ShmFolder();

  const std::string& path() const noexcept { return path_; }
  /// What its files take.
  std::uint64_t bytes_on_disk() const;

 private:
  std::string path_;
  int lock_ = -1;
};

}  // namespace lastref::bench
