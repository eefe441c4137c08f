// Names of shared memory and semaphores: files in /dev/shm, as glibc makes them.
#include <array>
#include <cerrno>
#include <optional>

#include "harness/sim/sim_kernel.hpp"

namespace lastref::harness::sim {
namespace {

// The path that shm_open and sem_open use; absent for a name that they do not accept.
std::optional<std::string> shm_path(const std::string& name, const char* prefix) {
  const std::size_t start = name.find_first_not_of('/');
  if (start == std::string::npos || name.find('/', start) != std::string::npos ||
      name.find('\0') != std::string::npos) {
    return std::nullopt;
  }
  return std::string("/dev/shm/") + prefix + name.substr(start);
}

// glibc changes EPERM, which unlink(2) returns in a sticky folder, to EACCES. shm_unlink(3).
Answer<void> without_eperm(Answer<void> answer) {
  return !answer && answer.error() == EPERM ? refused(EACCES) : answer;
}

}  // namespace

Answer<os::Fd> SimKernel::create_shm(SimProcess& caller,
                                     const std::string& name,
                                     std::uint32_t mode) {
  const auto path = shm_path(name, "");
  if (!path) {
    return refused(EINVAL);
  }
  return open(caller, *path, {.write = true, .create = true, .mode = mode});
}

Answer<void> SimKernel::unlink_shm(SimProcess& caller, const std::string& name) {
  const auto path = shm_path(name, "");
  return path ? without_eperm(unlink(caller, *path)) : refused(ENOENT);
}

Answer<void> SimKernel::create_semaphore(SimProcess& caller,
                                         const std::string& name,
                                         std::uint32_t mode) {
  const auto path = shm_path(name, "sem.");
  if (!path) {
    return refused(EINVAL);
  }
  const auto fd = open(caller, *path, {.write = true, .create = true, .mode = mode});
  if (!fd) {
    return refused(fd.error());
  }
  const std::array<std::byte, 32> semaphore{};  // sizeof(sem_t)
  const auto size = put(caller, *description(caller, *fd)->inode, semaphore, 0);
  static_cast<void>(close(caller, *fd));
  if (!size) {
    static_cast<void>(unlink(caller, *path));
    return refused(size.error());
  }
  return {};
}

Answer<void> SimKernel::unlink_semaphore(SimProcess& caller, const std::string& name) {
  const auto path = shm_path(name, "sem.");
  return path ? without_eperm(unlink(caller, *path)) : refused(ENOENT);
}

}  // namespace lastref::harness::sim
