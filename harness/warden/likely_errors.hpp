// likely_errors: what a system call may fail with on Linux, by where its object is. A fault that no
// kernel ever gives says nothing about a program. The manual pages of section 2, and what the file
// systems do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lastref::harness::warden {

enum class Where : std::uint8_t {
  memory,   ///< tmpfs, ramfs
  disk,     ///< Any file system that may run into a broken medium, or into quotas
  network,  ///< Served by somebody else: NFS, FUSE, overlayfs
  stream,   ///< A pipe, a socket, a terminal, a device
  kernel,   ///< proc, sysfs and their like
  nowhere,  ///< The call has no object.
};

/// Of the absolute name of a file, there or not; of what a descriptor is, as "pipe:[17]".
Where where_is(const std::string& object);

bool is_likely(std::string_view call, int error, Where where) noexcept;
/// Anywhere
bool is_likely(std::string_view call, int error) noexcept;

/// "tmpfs", "a disk"
std::string_view name_of(Where where) noexcept;

/// A line with all that is likely, as "EACCES ELOOP; disk: EIO".
std::string likely_errors_of(std::string_view call);

}  // namespace lastref::harness::warden
