#include "harness/kernel/kernel_limits.hpp"

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "harness/kernel/privileges.hpp"
#include "harness/kernel/process.hpp"

namespace lastref::harness {
namespace {

constexpr const char* shared_memory = "/dev/shm";
constexpr std::uint64_t whole_inodes = 1'048'576;
/// More than any machine has, and far from where sums overflow.
constexpr std::uint64_t storage_max = std::uint64_t{1} << 40U;

bool remount(const std::string& options) noexcept {
  return ::mount(
             "world", shared_memory, "tmpfs", MS_REMOUNT | MS_NOSUID | MS_NODEV, options.c_str()) ==
         0;
}

void set_file_size(std::uint64_t bytes) noexcept {
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = std::min<rlim_t>(bytes, limit.rlim_max);
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

}  // namespace

void give_storage_back() noexcept {
  struct statvfs now {};
  if (::statvfs(shared_memory, &now) == 0 && now.f_files != whole_inodes) {
    const bool given = remount(whole_storage);
    LASTREF_ASSERT(given);
  }
}

FileSizeLifted::FileSizeLifted() noexcept {
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  before_ = limit.rlim_cur;
  if (before_ != RLIM_INFINITY) {
    set_file_size(RLIM_INFINITY);
  }
}

FileSizeLifted::~FileSizeLifted() {
  if (before_ != RLIM_INFINITY) {
    set_file_size(before_);
  }
}

bool KernelLimits::storage(std::uint64_t bytes, std::uint64_t inodes) {
  struct statvfs now {};
  if (!context_.has_walls || ::statvfs(shared_memory, &now) != 0) {
    return false;
  }
  const AllPrivileges all;
  const std::uint64_t pages = (std::min(bytes, storage_max) + now.f_frsize - 1) / now.f_frsize;
  const std::uint64_t blocks = now.f_blocks - now.f_bfree + pages;
  const std::uint64_t files = now.f_files - now.f_ffree + std::min(inodes, storage_max);
  return remount("nr_blocks=" + std::to_string(blocks) + ",nr_inodes=" + std::to_string(files));
}

void KernelLimits::free_storage() {
  if (context_.has_walls) {
    const AllPrivileges all;
    give_storage_back();
  }
}

void KernelLimits::file_size(std::uint64_t bytes) {
  // Who goes beyond it gets EFBIG if this signal is ignored, and dies of it otherwise. setrlimit(2)
  ::signal(SIGXFSZ, SIG_IGN);
  set_file_size(bytes);
}

bool KernelLimits::obey_modes() {
  return obey_permission_bits();
}

}  // namespace lastref::harness
