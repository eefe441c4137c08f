// outside: what happens around the product without its knowledge, in the kernel world:
// limits of storage and of files, permission bits that count, and what an outside party does.
#pragma once

#include <cstdint>

namespace lastref::harness {

/// Options of the tmpfs on /dev/shm while nothing is limited: as much as a mount gets by itself,
/// and a number of inodes that says so.
inline constexpr const char* whole_storage = "size=50%,nr_inodes=1048576";

/// As before any limit. Does nothing where there is none.
void give_storage_back() noexcept;

/// While it lives, this process may write files of any size.
class FileSizeLifted {
 public:
  FileSizeLifted() noexcept;
  FileSizeLifted(const FileSizeLifted&) = delete;
  FileSizeLifted& operator=(const FileSizeLifted&) = delete;
  ~FileSizeLifted();

 private:
  std::uint64_t before_;
};

}  // namespace lastref::harness
