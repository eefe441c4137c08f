#include "harness/warden/refusal.hpp"

#include <sys/syscall.h>

#include <cerrno>

#include <fmt/format.h>

#include "harness/platform/names.hpp"
#include "harness/platform/proc.hpp"
#include "harness/warden/proc_inspect.hpp"

namespace lastref::harness::warden {

Refusal refusal_of(const Notification& call, const ProcessSeen& who) {
  Refusal refusal{.role = who.role,
                  .title = who.title,
                  .executable = executable_of(who.process),
                  .call = fmt::format("call {}", call.number),
                  .why = "a call of another kind, such as that of a 32-bit program",
                  .error = ENOSYS};
  if (call.is_foreign) {
    return refusal;
  }
  const bool is_ring = call.number == SYS_io_uring_setup;
  refusal.call = is_ring ? "io_uring_setup" : "seccomp";
  refusal.why = is_ring ? "whose calls would not be visible"
                        : "to watch other processes by user notification, as lastref does";
  refusal.error = is_ring ? ENOSYS : EBUSY;
  return refusal;
}

std::string to_text(const Refusal& refusal) {
  return fmt::format("{} ({}{}{}) makes {}, {}: {}",
                     refusal.role,
                     refusal.title,
                     refusal.executable.empty() ? "" : ", ",
                     refusal.executable,
                     refusal.call,
                     refusal.why,
                     name_of_error(refusal.error));
}

}  // namespace lastref::harness::warden
