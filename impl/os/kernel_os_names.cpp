// kernel_os_names: names of shared memory and semaphores, and locks.
#include <fcntl.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

#include <lastref/kernel_os.hpp>

#include "impl/os/kernel_os_error.hpp"
#include "impl/os/kernel_os_numbers.hpp"

namespace lastref::os {
namespace {

struct flock to_flock(const LockRange& range) noexcept {
  struct flock lock {};
  switch (range.kind) {
    case LockKind::none:
      lock.l_type = F_UNLCK;
      break;
    case LockKind::shared:
      lock.l_type = F_RDLCK;
      break;
    case LockKind::exclusive:
      lock.l_type = F_WRLCK;
      break;
  }
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(range.start);
  lock.l_len = static_cast<off_t>(range.length);
  return lock;
}

}  // namespace

Result<Fd> KernelOs::create_shm(const std::string& name, std::uint32_t mode) noexcept {
  if (!is_path(name)) {
    return failed(Call::create_shm, name);
  }
  const StandardNumbers kept;
  const int fd =
      above_standard(::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode_t{mode}));
  if (fd < 0) {
    return failed(Call::create_shm, name);
  }
  return Fd{fd};
}

Status KernelOs::unlink_shm(const std::string& name) noexcept {
  if (!is_path(name)) {
    return failed(Call::unlink_shm, name);
  }
  return status_of(::shm_unlink(name.c_str()), Call::unlink_shm, name);
}

Status KernelOs::create_semaphore(const std::string& name, std::uint32_t mode) noexcept {
  if (!is_path(name)) {
    return failed(Call::create_semaphore, name);
  }
  const StandardNumbers kept;
  // glibc makes a file of another name first and links it, so SIGKILL during the call can leave
  // that file.
  sem_t* const semaphore = ::sem_open(name.c_str(), O_CREAT | O_EXCL, mode_t{mode}, 0U);
  if (semaphore == SEM_FAILED) {
    return failed(Call::create_semaphore, name);
  }
  return status_of(::sem_close(semaphore), Call::create_semaphore, name);
}

Status KernelOs::unlink_semaphore(const std::string& name) noexcept {
  if (!is_path(name)) {
    return failed(Call::unlink_semaphore, name);
  }
  return status_of(::sem_unlink(name.c_str()), Call::unlink_semaphore, name);
}

Status KernelOs::lock_range(Fd fd, const LockRange& range) noexcept {
  struct flock lock = to_flock(range);
  return status_of(::fcntl(number(fd), F_SETLK, &lock), Call::lock_range, fd);
}

Result<std::optional<LockHolder>> KernelOs::find_lock(Fd fd, const LockRange& range) noexcept {
  struct flock lock = to_flock(range);
  if (::fcntl(number(fd), F_GETLK, &lock) < 0) {
    return failed(Call::find_lock, fd);
  }
  if (lock.l_type == F_UNLCK) {
    return std::nullopt;
  }
  const LockKind kind = lock.l_type == F_RDLCK ? LockKind::shared : LockKind::exclusive;
  // The pid is 0 from another pid namespace, -1 for a lock of an open file description. fcntl(2).
  return LockHolder{.pid = std::max(lock.l_pid, 0),
                    .range = {.kind = kind,
                              .start = static_cast<std::uint64_t>(lock.l_start),
                              .length = static_cast<std::uint64_t>(lock.l_len)}};
}

Status KernelOs::lock_folder(Fd folder) noexcept {
  return status_of(::flock(number(folder), LOCK_SH | LOCK_NB), Call::lock_folder, folder);
}

}  // namespace lastref::os
