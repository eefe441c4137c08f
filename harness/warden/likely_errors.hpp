// likely_errors: which errors a system call may return on Linux, by where its object is: see
// syscalls.def. A fault that no kernel ever returns reveals nothing about a program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lastref::harness::warden {

enum class Where : std::uint8_t {
  memory,   ///< tmpfs, ramfs
  disk,     ///< Any file system that may meet a broken medium or quotas
  network,  ///< Served by another process or machine: NFS, FUSE, overlayfs
  stream,   ///< A pipe, a socket, a terminal, a device
  kernel,   ///< proc, sysfs and their like
  nowhere,  ///< The call has no object.
};

/// The place of a file, by its absolute name, whether it exists or not; or of a descriptor, by what
/// it is, such as "pipe:[17]".
Where where_is(const std::string& object);

bool is_likely(std::string_view call, int error, Where where) noexcept;
/// At any place
bool is_likely(std::string_view call, int error) noexcept;

/// "tmpfs", "a disk"
std::string_view name_of(Where where) noexcept;

/// All likely errors on one line, such as "EACCES ELOOP; disk: EIO".
std::string likely_errors_of(std::string_view call);

}  // namespace lastref::harness::warden
