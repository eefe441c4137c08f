// build_id: distinguishes builds of the running program, also on other machines.
#pragma once

#include <string>

namespace lastref::harness {

/// In hexadecimal; empty: the linker has given it none. ld(1), --build-id
std::string build_id();

}  // namespace lastref::harness
