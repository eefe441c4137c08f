// WorldFault: what all processes of a run have too little of, from its start to its end.
//
//   limit nofile=4            a resource limit, as --limit has it
//   private /dev/shm=4k       a private folder that is soon full, as --private has it
//
// As a fault, and not as an option of the run, it explains why a program fails.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include <lastref/error.hpp>

#include "harness/warden/launch.hpp"
#include "harness/warden/private_folders.hpp"

namespace lastref::harness::warden {

using WorldFault = std::variant<Limit, PrivateFolder>;

/// Whether the text begins as one; otherwise it is a fault at calls.
bool is_world_fault(std::string_view text) noexcept;

/// Errors          invalid_argument: what is wrong in the text.
Result<WorldFault> parse_world_fault(std::string_view text);

/// Whether the kernel limits how many processes the user has: root may start any number.
bool limits_processes();

/// parse_world_fault() or parse_tree_fault() reads it.
bool is_fault(std::string_view text);

}  // namespace lastref::harness::warden
