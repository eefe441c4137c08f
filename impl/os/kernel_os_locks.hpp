// kernel_os_locks: which record locks this process has, whatever code of it took them. Another copy
// of the library may be in it, in a plugin, and shares nothing with this one but the kernel.
#pragma once

#include <span>

#include <lastref/os.hpp>
#include <lastref/process_objects.hpp>

namespace lastref::os {

/// Whether this process has locked the file through any descriptor that is not in `own`. For each
/// descriptor, /proc shows the locks that this process took through it, and none that its parent
/// had before a fork. proc_pid_fdinfo(5)
///
/// Limits          false without /proc; true if what is there cannot be read.
bool has_record_lock(ProcessObjects::FileId file, std::span<const Fd> own) noexcept;

}  // namespace lastref::os
