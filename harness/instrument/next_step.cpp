#include "harness/instrument/next_step.hpp"

#include "harness/platform/hash.hpp"

namespace lastref::harness {
namespace {

/// In NextStep::call, above the numbers of calls.
constexpr std::uint32_t first_thread_step = 1000;

/// Whether a call changes nothing that another actor can observe.
bool only_reads(Call call) noexcept {
  switch (call) {
    case Call::read_at:
    case Call::status:
    case Call::status_at:
    case Call::read_link:
    case Call::read_folder:
    case Call::free_space:
    case Call::file_system:
    case Call::working_folder:
    case Call::map:
    case Call::find_lock:
    case Call::peer_of:
    case Call::poll:
    case Call::open_process:
      return true;
    default:
      return false;
  }
}

}  // namespace

NextStep step_of(const PendingCall& pending_call) noexcept {
  if (pending_call.object.empty()) {
    return {};
  }
  return {.object = hash_of(pending_call.object),
          .writes = !only_reads(pending_call.call),
          .call = static_cast<std::uint32_t>(pending_call.call)};
}

NextStep step_of(ThreadStep step, std::uint16_t process, std::uint64_t object) noexcept {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;
  return {.object = (process + 1U) * factor + object,
          .writes = step != ThreadStep::load,
          .call = first_thread_step + static_cast<std::uint32_t>(step)};
}

}  // namespace lastref::harness
