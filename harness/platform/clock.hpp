// clock: the time that this process measures, as opposed to that of a run.
#pragma once

namespace lastref::harness {

/// Seconds since some moment. The clock is steady.
double seconds_now();

}  // namespace lastref::harness
