// privileges: what an outside party may do and a process of a run may not do.
#pragma once

#include <cstdint>

#include "harness/kernel/kernel_limits.hpp"

namespace lastref::harness {

/// From now on permission bits apply to the calling thread, although it belongs to root. False if
/// that is impossible. An outside party that acts from this thread is not affected: its
/// capabilities stay permitted.
bool obey_permission_bits() noexcept;

/// For an outside party: during its lifetime, file modes and the umask do not apply, and files may
/// have any size.
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
