// run_timeline: the calls of a watched run in their order, for its page.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/cli/judged_run.hpp"

namespace lastref::harness {

/// A list of {"role", "text", "mark"}. A mark is what a reader looks for: a fault, a call that made
/// a leftover, or how a process ended.
nlohmann::ordered_json timeline_of(const JudgedRun& run);

}  // namespace lastref::harness
