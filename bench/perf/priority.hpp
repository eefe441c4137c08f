// What measuring asks for before it begins.
#pragma once

#include <cstdint>

namespace lastref::perf {

/// Asks for the processor before all others, for this program and what it starts, where that is
/// allowed: on a machine that others keep busy the times of a pair then differ less, and fewer
/// pairs do. Others wait meanwhile. False: it is not allowed, and all is as it was.
bool be_first_in_line();

/// One that nobody has had, short enough to be copied.
std::uint64_t new_seed();

}  // namespace lastref::perf
