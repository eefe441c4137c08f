// spawned: how a process knows that it was started to be a worker or a tracker.
//
// Such a process has the marker in its environment until it begins to serve, and nothing that it
// executes later has it. With the marker it starts nothing: a program that does not ask first what
// it was started for would do again what its parent did, and so would each of its children.
#pragma once

#include <string>

#include <lastref/error.hpp>

namespace lastref {

/// Its value is the entry that was started.
inline constexpr const char* spawned_marker = "__LASTREF_SPAWNED_PARALLEL__";

/// What such a program has to do.
inline constexpr const char* how_to_guard_main =
    "main has to return what lastref::run_if_spawned gives, before anything else";

/// What a process is refused that has the marker with this value.
inline tl::unexpected<Error> not_guarded(const std::string& role, Call call = Call::none) {
  return failure(std::errc::operation_not_permitted,
                 "this process was started as a " + role + ": " + how_to_guard_main,
                 call);
}

}  // namespace lastref
