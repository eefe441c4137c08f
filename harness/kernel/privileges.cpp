#include "harness/kernel/privileges.hpp"

#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace lastref::harness {
namespace {

/// The capabilities by which root bypasses permission bits.
constexpr std::uint32_t over_modes =
    1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH | 1U << CAP_FOWNER;

/// The additional ones of an outside party.
constexpr std::uint32_t outsiders = over_modes | 1U << CAP_SYS_ADMIN;

/// The capabilities of the calling thread.
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

}  // namespace

// They stay permitted; only the effective set is checked.
bool obey_permission_bits() noexcept {
  Capabilities mine;
  return mine.set_effective(mine.effective() & ~over_modes);
}

AllPrivileges::AllPrivileges() noexcept : umask_before_(::umask(0)) {
  Capabilities mine;
  capabilities_before_ = mine.effective();
  const std::uint32_t all = capabilities_before_ | (mine.permitted() & outsiders);
  changed_ = all != capabilities_before_ && mine.set_effective(all);
}

AllPrivileges::~AllPrivileges() {
  ::umask(umask_before_);
  if (changed_) {
    Capabilities mine;
    mine.set_effective(capabilities_before_);
  }
}

}  // namespace lastref::harness
