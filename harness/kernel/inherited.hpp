// inherited: what a process has from its start on whom the product has started.
//
// It can be seen where the process is executed by the product's own Os::spawn, which is so in an
// ambient: else it is a fork of the server's, and has what the harness gives it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/kernel/process.hpp"
#include "harness/scenario/finding.hpp"

namespace lastref::harness {

/// The signals that the calling thread blocks, as signal_bit has them.
std::uint64_t blocked_signals() noexcept;

/// Makes an empty file of the user's that has no name, and opens it as standard error.
void open_users_file_as_standard_error() noexcept;
/// What is wrong with descriptors 0 to 2 of a program that had closed them: what is open there and
/// is not the user's, or a message that lies in the file of the user; empty if nothing is.
std::string wrong_standard_descriptor();

/// What is not as it was promised in this process, before it does anything; the first, if it is
/// more. `blocked` are the signals that its starter wants it to block.
std::optional<Finding> not_inherited(const RunContext& context,
                                     std::uint16_t process,
                                     const Birth& birth,
                                     std::uint64_t blocked);

}  // namespace lastref::harness
