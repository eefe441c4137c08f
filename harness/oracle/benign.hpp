// benign: whether anybody may notice what was planned for a run.
#pragma once

#include "harness/oracle/evidence.hpp"

namespace lastref::harness::oracle {

/// Whether every fault that has struck is benign, so that all has to be as it is without it. What a
/// process had still to send when it was killed is lost with it; and an error of a call that the
/// scenario itself makes is noticed by the scenario.
bool is_unnoticed(const Evidence& evidence);

/// Whether limits that ended early are all that has struck and may be noticed. Then a word may fail
/// because its time was over, and for no other reason.
bool is_late_at_most(const Evidence& evidence);

/// Whether more than one fault was planned that may be noticed.
bool has_two_faults(const Evidence& evidence);

}  // namespace lastref::harness::oracle
