// Limits: system resources that a scenario can restrict. Setting a limit is not a crossing.
#pragma once

#include <cstdint>
#include <string>

namespace lastref::harness {

class Limits {
 public:
  Limits() = default;
  Limits(const Limits&) = delete;
  Limits& operator=(const Limits&) = delete;
  virtual ~Limits() = default;

  /// Limits the file system of /dev/shm to this many more bytes (rounded up to pages) and inodes,
  /// until `free_storage` or the end of the last process. Returns false if that is impossible.
  virtual bool storage(std::uint64_t bytes, std::uint64_t inodes) = 0;
  virtual void free_storage() = 0;
  /// Turns the file system of the spare folder into one that copies on write (btrfs), with space
  /// for this many more bytes: without space a store into a mapped file is SIGBUS. False in the
  /// kernel world, which has no such file system.
  virtual bool copying_storage(std::uint64_t bytes) = 0;
  /// This process, and those that it starts from now on, cannot write past this size of a file
  /// (RLIMIT_FSIZE). Standard error does not count as a file.
  virtual void file_size(std::uint64_t bytes) = 0;
  /// From now on processes in `role` may have this many more descriptors than now, or, below 0,
  /// this many fewer (RLIMIT_NOFILE). A descriptor that they close cannot be opened again until
  /// they are within the limit. Processes started in the role later have the usual limit. False if
  /// the role has no process.
  virtual bool descriptors(const std::string& role, int more) = 0;
  /// Makes permission bits apply to this process, and to those that it starts from now on, even if
  /// they are root's. Call it before the process has threads: they would not be affected. False in
  /// the sim, where root may do everything.
  virtual bool obey_modes() = 0;
};

}  // namespace lastref::harness
