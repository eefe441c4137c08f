#include "harness/kernel/kernel_limits.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <span>
#include <string>
#include <string_view>

#include "harness/kernel/privileges.hpp"
#include "harness/kernel/process.hpp"

namespace lastref::harness {
namespace {

constexpr const char* shared_memory = "/dev/shm";
constexpr std::string_view limits_storage = "it limits storage";
constexpr std::uint64_t whole_inodes = 1'048'576;
/// More than any machine has, and far from overflowing sums.
constexpr std::uint64_t storage_max = std::uint64_t{1} << 40U;

bool remount(const std::string& options) noexcept {
  return ::mount(
             "world", shared_memory, "tmpfs", MS_REMOUNT | MS_NOSUID | MS_NODEV, options.c_str()) ==
         0;
}

/// One past the highest descriptor that does not belong to the harness; 0 if the process cannot be
/// inspected.
int descriptors_end(os::Pid pid) noexcept {
  const std::string path = std::to_string(pid) + "/fd";
  const int folder =
      ::openat(harness_fd::world_proc, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const stream = folder < 0 ? nullptr : ::fdopendir(folder);
  if (stream == nullptr) {
    return 0;
  }
  int end = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  while (const dirent* entry = ::readdir(stream)) {
    const std::string_view name(entry->d_name);
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    end = number < harness_fd::lowest ? std::max(end, number + 1) : end;
  }
  ::closedir(stream);
  return end;
}

/// The kernel returns the lowest free number if it is below the limit. getrlimit(2)
bool limit_descriptors(const Process& process, int more) noexcept {
  const int end = descriptors_end(process.pid);
  rlimit limit{};
  if (end == 0 || ::prlimit(process.own_pid, RLIMIT_NOFILE, nullptr, &limit) != 0) {
    return false;
  }
  limit.rlim_cur = std::min<rlim_t>(static_cast<rlim_t>(std::max(end + more, 0)), limit.rlim_max);
  return ::prlimit(process.own_pid, RLIMIT_NOFILE, &limit, nullptr) == 0;
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
  if (context_.run.lacks_gate(limits_storage) || !context_.is_isolated ||
      ::statvfs(shared_memory, &now) != 0) {
    return false;
  }
  const AllPrivileges all;
  const std::uint64_t pages = (std::min(bytes, storage_max) + now.f_frsize - 1) / now.f_frsize;
  const std::uint64_t blocks = now.f_blocks - now.f_bfree + pages;
  const std::uint64_t files = now.f_files - now.f_ffree + std::min(inodes, storage_max);
  return remount("nr_blocks=" + std::to_string(blocks) + ",nr_inodes=" + std::to_string(files));
}

bool KernelLimits::copying_storage(std::uint64_t /*bytes*/) {
  context_.run.lacks_gate(limits_storage);
  return false;
}

void KernelLimits::free_storage() {
  if (context_.is_isolated) {
    const AllPrivileges all;
    give_storage_back();
  }
}

void KernelLimits::file_size(std::uint64_t bytes) {
  if (context_.run.lacks_gate("it limits the size of files")) {
    return;
  }
  // A write beyond the limit fails with EFBIG if this signal is ignored, and kills otherwise.
  // setrlimit(2)
  ::signal(SIGXFSZ, SIG_IGN);
  set_file_size(bytes);
}

bool KernelLimits::descriptors(const std::string& role, int more) {
  if (context_.run.lacks_gate("it limits descriptors")) {
    return false;
  }
  const AllPrivileges all;
  const ControlBlock& control_block = context_.run.control_block();
  bool any = false;
  for (const Process& each :
       std::span(control_block.processes).first(control_block.processes_used)) {
    if (each.live && each.plays(role)) {
      any = limit_descriptors(each, more) || any;
    }
  }
  return any;
}

bool KernelLimits::obey_modes() {
  return !context_.run.lacks_gate("permission bits have to count") && obey_permission_bits();
}

}  // namespace lastref::harness
