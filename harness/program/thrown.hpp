// thrown: whether a thread has thrown exceptions.
//
// The C++ runtime allocates them with malloc, so they are in no arena, and a copy of an arena may
// have pointers to them.
#pragma once

#include <cstdint>

namespace lastref::harness {

/// The number of exceptions that this thread has thrown so far. Those that a shared C++ library has
/// thrown by itself are not counted.
std::uint64_t exceptions_thrown() noexcept;

}  // namespace lastref::harness
