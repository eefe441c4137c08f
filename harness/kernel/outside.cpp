#include "harness/kernel/outside.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include "harness/kernel/kernel_stage.hpp"

namespace lastref::harness {
namespace {

constexpr const char* shared_memory = "/dev/shm";
constexpr int looks_for_a_death_max = 1'000'000;
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

/// What lets root pass by permission bits.
constexpr std::uint32_t over_modes =
    1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH | 1U << CAP_FOWNER;

/// What an outside party has besides.
constexpr std::uint32_t outsiders = over_modes | 1U << CAP_SYS_ADMIN;

/// Those of the calling thread.
class Capabilities {
 public:
  Capabilities() noexcept { known_ = ::syscall(SYS_capget, &header_, sets_.data()) == 0; }

  std::uint32_t permitted() const noexcept { return known_ ? sets_[0].permitted : 0; }
  std::uint32_t effective() const noexcept { return sets_[0].effective; }
  bool set_effective(std::uint32_t bits) noexcept {
    sets_[0].effective = bits;
    return known_ && ::syscall(SYS_capset, &header_, sets_.data()) == 0;
  }

 private:
  bool known_ = false;
  __user_cap_header_struct header_{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets_{};
};

/// An outside party's: while it lives, modes are not obeyed, nor is a umask, and files have any
/// size.
class Outside {
 public:
  Outside() noexcept : before_(capabilities_.effective()), umask_(::umask(0)) {
    const std::uint32_t all = before_ | (capabilities_.permitted() & outsiders);
    changed_ = all != before_ && capabilities_.set_effective(all);
  }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
  ~Outside() {
    ::umask(umask_);
    if (changed_) {
      capabilities_.set_effective(before_);
    }
  }

 private:
  FileSizeLifted any_size_;
  Capabilities capabilities_;
  std::uint32_t before_;
  mode_t umask_;
  bool changed_ = false;
};

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

bool KernelStage::limit_storage(std::uint64_t bytes, std::uint64_t inodes) {
  struct statvfs now {};
  if (!context_.has_walls || ::statvfs(shared_memory, &now) != 0) {
    return false;
  }
  const Outside outside;
  const std::uint64_t pages = (std::min(bytes, storage_max) + now.f_frsize - 1) / now.f_frsize;
  const std::uint64_t blocks = now.f_blocks - now.f_bfree + pages;
  const std::uint64_t files = now.f_files - now.f_ffree + std::min(inodes, storage_max);
  return remount("nr_blocks=" + std::to_string(blocks) + ",nr_inodes=" + std::to_string(files));
}

void KernelStage::free_storage() {
  if (context_.has_walls) {
    const Outside outside;
    give_storage_back();
  }
}

void KernelStage::limit_file_size(std::uint64_t bytes) {
  // Who goes beyond it gets EFBIG if this signal is ignored, and dies of it otherwise. setrlimit(2)
  ::signal(SIGXFSZ, SIG_IGN);
  set_file_size(bytes);
}

// They stay permitted, for an outside party that acts from here, and effective is what counts.
bool KernelStage::obey_modes() {
  Capabilities mine;
  return mine.set_effective(mine.effective() & ~over_modes);
}

void KernelStage::change_mode(const std::string& path, std::uint32_t mode) {
  const std::string own = context_.files.substr(0, context_.files.rfind('/') + 1);
  if (context_.has_walls || path.starts_with(own)) {
    const Outside outside;
    ::chmod(path.c_str(), mode);
  }
}

bool KernelStage::outside_unlink(const std::string& path) {
  const Outside outside;
  return ::unlink(path.c_str()) == 0;
}

bool KernelStage::outside_rmdir(const std::string& path) {
  const Outside outside;
  return ::rmdir(path.c_str()) == 0;
}

bool KernelStage::outside_make_folder(const std::string& path, std::uint32_t mode) {
  const Outside outside;
  return ::mkdir(path.c_str(), mode) == 0;
}

bool KernelStage::outside_symlink(const std::string& target, const std::string& path) {
  const Outside outside;
  return ::symlink(target.c_str(), path.c_str()) == 0;
}

bool KernelStage::outside_write(const std::string& path, const std::string& bytes) {
  gate_.fact(fact::outside, path);
  const Outside outside;
  const int file = ::open(
      path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (file < 0) {
    return false;
  }
  const ssize_t written = ::write(file, bytes.data(), bytes.size());
  ::close(file);
  return written == static_cast<ssize_t>(bytes.size());
}

bool KernelStage::reuse_pid(os::Pid pid) {
  ::waitpid(pid, nullptr, WNOHANG);
  // As long as it is not reaped, by us or, where SIGCHLD is ignored, unasked, the pid is taken.
  for (int looks = 0; looks < looks_for_a_death_max && ::kill(pid, 0) == 0; ++looks) {
    ::sched_yield();
  }
  const Outside outside;
  const std::string before = std::to_string(pid - 1);
  return context_.has_walls && ::pwrite(harness_fd::last_pid, before.data(), before.size(), 0) ==
                                   static_cast<ssize_t>(before.size());
}

std::vector<std::string> KernelStage::outside_list(const std::string& folder) {
  const Outside outside;
  std::vector<std::string> names;
  DIR* stream = ::opendir(folder.c_str());
  if (stream == nullptr) {
    return names;
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  while (const dirent* entry = ::readdir(stream)) {
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") {
      names.emplace_back(name);
    }
  }
  ::closedir(stream);
  std::ranges::sort(names);
  return names;
}

}  // namespace lastref::harness
