// NextStep: what schedule policies know of a call or thread step, the same in every world.
#pragma once

#include <cstdint>

#include "harness/choice/schedule_policy.hpp"
#include "harness/instrument/interceptor.hpp"

namespace lastref::harness {

/// Nothing if the call has no object.
NextStep step_of(const PendingCall& pending_call) noexcept;

/// Of a thread of that process; `object` is its number there.
NextStep step_of(ThreadStep step, std::uint16_t process, std::uint64_t object) noexcept;

}  // namespace lastref::harness
