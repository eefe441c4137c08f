// spawned: how a process knows that it was started as a worker or a tracker.
//
// Such a process has the marker in its environment until it begins to serve. Programs that it
// executes later do not have it. A process with the marker starts no processes. Otherwise a program
// that does not check first why it was started would repeat the actions of its parent, and so would
// each of its children.
#pragma once

#include <string>

#include <lastref/error.hpp>

namespace lastref {

/// The value of the variable is the entry that was started.
inline constexpr const char* spawned_marker = "__LASTREF_SPAWNED_PARALLEL__";

/// Instruction for such a program.
inline constexpr const char* how_to_guard_main =
    "main has to call lastref::init, or to return what lastref::run_if_spawned gives, before "
    "anything else";

/// The error with which a process is refused that has the marker with this value.
inline tl::unexpected<Error> not_guarded(const std::string& role, Call call = Call::none) {
  return failure(std::errc::operation_not_permitted,
                 "this process was started as a " + role + ": " + how_to_guard_main,
                 call);
}

}  // namespace lastref
