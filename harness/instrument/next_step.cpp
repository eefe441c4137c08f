#include "harness/instrument/next_step.hpp"

#include "harness/journal/run_log.hpp"
#include "harness/platform/hash.hpp"

namespace lastref::harness {
namespace {

/// In NextStep::call, above the numbers of calls.
constexpr std::uint32_t first_thread_step = 1000;

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
