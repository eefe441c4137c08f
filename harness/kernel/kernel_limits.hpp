// KernelLimits: limits of storage and of files, and enforced permission bits, in the kernel world.
#pragma once

#include <cstdint>
#include <string>

#include "harness/scenario/limits.hpp"

namespace lastref::harness {

/// Options of the tmpfs on /dev/shm while nothing is limited: the default size of a mount, and a
/// recognizable number of inodes.
inline constexpr const char* whole_storage = "size=50%,nr_inodes=1048576";

/// Removes the limits of storage. Does nothing if there is none.
void give_storage_back() noexcept;

/// During its lifetime, this process may write files of any size.
class FileSizeLifted {
 public:
  FileSizeLifted() noexcept;
  FileSizeLifted(const FileSizeLifted&) = delete;
  FileSizeLifted& operator=(const FileSizeLifted&) = delete;
  ~FileSizeLifted();

 private:
  std::uint64_t before_;
};

struct RunContext;

/// An ungated run limits nothing: a scenario that requests a limit is left out.
class KernelLimits final : public Limits {
 public:
  explicit KernelLimits(const RunContext& context) noexcept : context_(context) {}

  bool storage(std::uint64_t bytes, std::uint64_t inodes) override;
  void free_storage() override;
  bool copying_storage(std::uint64_t bytes) override;
  void file_size(std::uint64_t bytes) override;
  bool descriptors(const std::string& role, int more) override;
  bool obey_modes() override;

 private:
  const RunContext& context_;
};

}  // namespace lastref::harness
