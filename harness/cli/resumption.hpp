// Resumption: what verbs with --resume have in common.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/cli/verbs.hpp"

namespace lastref::harness {

/// Distinguishes builds of the program: an identifier that the linker made.
std::string build_of_program();
std::uint64_t hash_of_build();

/// Creates a file in the folder for temporary files, for what a verb has done; empty if that is
/// impossible.
std::string new_temporary_file();

/// The arguments of this invocation, with the file. `resume` is what --resume named; it may be
/// empty.
std::string command_to_resume(const Invocation& invocation,
                              std::string_view resume,
                              const std::string& file);

}  // namespace lastref::harness
