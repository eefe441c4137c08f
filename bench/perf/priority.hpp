// What measuring asks for before it begins.
#pragma once

#include <cstdint>

namespace lastref::perf {

/// Asks for the processor before all others, for this program and what it starts, where that is
/// allowed: on a machine that others keep busy a pair then differs by a third of what it did, which
/// saves nine of ten pairs. False: it is not allowed, and all is as it was.
bool be_first_in_line();

/// One that nobody has had, short enough to be copied.
std::uint64_t new_seed();

}  // namespace lastref::perf
