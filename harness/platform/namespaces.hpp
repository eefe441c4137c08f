// namespaces: enters namespaces, and mounts in them. All functions return false, or -1, and errno
// if that fails.
#pragma once

#include <cstdint>
#include <string>

#include <lastref/os.hpp>

namespace lastref::harness {

/// Enters new namespaces of these kinds, and a user namespace that permits this process to mount in
/// them. It keeps its user, or is root there. user_namespaces(7)
bool enter_user_namespace(int kinds, bool as_root) noexcept;

/// Makes mounts of this process, which has its own mount namespace, invisible to others from now
/// on.
bool keep_mounts_private() noexcept;
/// Gives the folder these permissions, and this owner and group if we may. inode(7)
bool give_attributes(const std::string& folder,
                     std::uint32_t owner,
                     std::uint32_t group,
                     std::uint32_t mode) noexcept;

/// Mounts an empty file system in memory. tmpfs(5)
bool mount_tmpfs(const char* name,
                 const std::string& folder,
                 const std::string& options = "mode=1777") noexcept;

/// Replaces /proc by one of this process's pid namespace.
bool mount_proc() noexcept;
/// Whether /proc exists and belongs to this process's pid namespace. Without it no run can be
/// watched.
bool has_proc() noexcept;
/// The message if it does not.
inline constexpr const char* no_proc =
    "/proc is missing, or is that of another pid namespace; mount -t proc proc /proc";

/// Forks a child, process 1 of a new pid namespace if that is `permitted`. As fork(2).
os::Pid fork_first_process(bool& permitted) noexcept;

}  // namespace lastref::harness
