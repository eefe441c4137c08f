// Limits: what the system has to give. To set one is no crossing.
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

  /// From now on the file system of /dev/shm has space for so many more bytes (rounded up to pages)
  /// and inodes, until `free_storage` or the end of the last process. False where it cannot be
  /// done.
  virtual bool storage(std::uint64_t bytes, std::uint64_t inodes) = 0;
  virtual void free_storage() = 0;
  /// From now on the spare folder's file system copies what is stored (btrfs), and has space for so
  /// many more bytes: where it has none, a store into what is mapped of a file is SIGBUS. False in
  /// the kernel world, which has none of that kind.
  virtual bool copying_storage(std::uint64_t bytes) = 0;
  /// No write of this process, and of those that it starts from now on, reaches past that size of
  /// a file (RLIMIT_FSIZE). What is said on standard error counts as no file.
  virtual void file_size(std::uint64_t bytes) = 0;
  /// From now on processes in `role` may have so many more descriptors than now, or, below 0, so
  /// many fewer (RLIMIT_NOFILE): what they close they cannot open again, until it is that many.
  /// Those that are started in the role later have what is usual. False where nobody is in it.
  virtual bool descriptors(const std::string& role, int more) = 0;
  /// Permission bits are refused to this process from now on, and to those that it starts, although
  /// they are root's. Before it has threads: they would not obey. False in the sim, where root may
  /// do all.
  virtual bool obey_modes() = 0;
};

}  // namespace lastref::harness
