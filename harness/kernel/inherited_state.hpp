// inherited state: what a process that the product has started has from its start.
//
// It can be seen only if the product's own Os::spawn executes the process, which is so in an
// ambient. Otherwise the process is a fork of the server and has what the harness gives it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/kernel/process.hpp"
#include "harness/scenario/finding.hpp"

namespace lastref::harness {

/// The signals that the calling thread blocks, as signal_bit values.
std::uint64_t blocked_signals() noexcept;

/// Makes an empty, unnamed file that belongs to the user, and opens it as standard error.
void open_users_file_as_standard_error() noexcept;
/// What is wrong with descriptors 0 to 2 of a program that had closed them: another open file than
/// the user's, or a message written into the user's file; empty if nothing is wrong.
std::string wrong_standard_descriptor();

/// The first promise about inherited state that this process finds broken, before it does anything.
/// `blocked` are the signals that its starter wants it to block.
std::optional<Finding> not_inherited(const RunContext& context,
                                     std::uint16_t process,
                                     const SpawnRequest& request,
                                     std::uint64_t blocked);

}  // namespace lastref::harness
