// run_timeline: the calls of a watched run in their order, for its page and its trace.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/cli/judged_run.hpp"

namespace lastref::harness {

/// Whether a report of the run needs a timeline.
bool wants_timeline(const RunVerbOptions& options) noexcept;

/// A list of {"role", "text", "mark", "kind", "process", "thread", "seconds"}. A mark is what a
/// reader looks for: a fault, a call that made a leftover, or how a process ended.
nlohmann::ordered_json timeline_of(const JudgedRun& run);

}  // namespace lastref::harness
