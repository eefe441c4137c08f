// Callers: the call stack of a crossing in the implementation.
//
// It consists of the calls of the implementation that lead to the crossing, from the harness's seam
// below up to the harness's code above: an operation of a role, the body of a process, the first
// function of a thread. Two crossings with the same call stack are the same site of the program, in
// two scenarios or in two rounds of a loop. Read from the stack and from the symbols of the
// program.
#pragma once

#include <cstdint>
#include <string>

namespace lastref::harness {

/// Reads the symbols, once: call it before the first run, because no run has time or memory for it.
/// False where there are no symbols: then no crossing has callers.
bool knows_callers();

/// The call stack of the caller: equal for equal call stacks in one build of the program; 0 where
/// it is unknown.
///
/// Signal safety   allocates and locks nothing once `knows_callers` has returned.
std::uint32_t callers_here() noexcept;

/// The same for an allocation, from the frame of its operator new upwards. 0: it is unknown, or not
/// the product's.
std::uint32_t callers_of_allocation(const void* frame) noexcept;
/// The function of the product that makes it, for reports.
std::string function_of_allocation(const void* frame);

}  // namespace lastref::harness
