// trace: the timeline of a run as a Chrome trace, for viewers such as https://ui.perfetto.dev
//
// Each process has tracks for its threads. A call is a slice. The end of a call cannot be seen, so
// a slice ends at the next call of its thread, or with its process. Faults, calls that made a
// leftover, and deaths are instants.
#pragma once

#include <string>

#include "harness/report/report.hpp"

namespace lastref::harness {

/// JSON, with an end of line. Without a timeline in the report there are no events.
std::string to_trace(const Report& report);

}  // namespace lastref::harness
