// privileges: what an outside party may do and a process of a run may not.
#pragma once

#include <cstdint>

#include "harness/kernel/kernel_limits.hpp"

namespace lastref::harness {

/// From now on permission bits are refused to the calling thread, although it is root's. False if
/// that cannot be. An outside party that acts from here is not affected: what counts for it stays
/// permitted.
bool obey_permission_bits() noexcept;

/// An outside party's: while it lives, modes are not obeyed, nor is a umask, and files have any
/// size.
class AllPrivileges {
 public:
  AllPrivileges() noexcept;
  AllPrivileges(const AllPrivileges&) = delete;
  AllPrivileges& operator=(const AllPrivileges&) = delete;
  ~AllPrivileges();

 private:
  FileSizeLifted any_size_;
  std::uint32_t capabilities_before_ = 0;
  std::uint32_t umask_before_;
  bool changed_ = false;
};

}  // namespace lastref::harness
