// Callers: where in the implementation a crossing comes from.
//
// The chain of calls of the implementation that leads to it, from the harness's own seam below up
// to the harness's own code above: an operation of a role, the body of a process, a thread's first
// function. Two crossings with one chain are one moment of the program, in two scenarios or in two
// rounds of a loop. Read from the stack and from the symbols of the program.
#pragma once

#include <cstdint>
#include <string>

namespace lastref::harness {

/// Reads the symbols, once: before the first run, for no run has time or memory for it. False
/// where there are none: then no crossing has callers.
bool knows_callers();

/// Of whoever calls it: equal for equal chains, in one build of the program; 0 where unknown.
///
/// Signal safety   allocates and locks nothing once `knows_callers` came back.
std::uint32_t callers_here() noexcept;

/// The same for an allocation, from the frame of its operator new on. 0: it is not the product's,
/// or unknown.
std::uint32_t callers_of_allocation(const void* frame) noexcept;
/// The product's function that makes it, for people.
std::string function_of_allocation(const void* frame);

}  // namespace lastref::harness
