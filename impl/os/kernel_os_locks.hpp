// kernel_os_locks: the record locks of this process, whatever code took them. Another copy of the
// library may be in it, in a plugin, and shares only the kernel with this one.
#pragma once

#include <cstddef>
#include <span>

#include <lastref/os.hpp>
#include <lastref/process_objects.hpp>

namespace lastref::os {

/// bytes; at most 341 entries of a folder at a time: the smallest takes 24.
inline constexpr std::size_t folder_buffer_size = 8192;

/// Whether this process has locked the file through any descriptor that is not in `own`. For each
/// descriptor, /proc shows the locks that this process took through it, but none that its parent
/// had before a fork. proc_pid_fdinfo(5)
///
/// Limits          false without /proc; true if it cannot be read.
bool has_record_lock(ProcessObjects::FileId file, std::span<const Fd> own) noexcept;

}  // namespace lastref::os
