// benign: whether the plan of a run has a visible effect.
#pragma once

#include "harness/oracle/evidence.hpp"

namespace lastref::harness::oracle {

/// Whether any call failed by a fault.
bool has_injected(const Evidence& evidence);

/// Whether every injected fault is benign, so that everything must be as without it. False if a
/// process was killed with messages still to send, which are lost with it. False for an error of a
/// call that the scenario itself makes: the scenario notices it.
bool is_unnoticed(const Evidence& evidence);

/// Whether time limits that ended early are the only injected faults with a visible effect. Then an
/// operation may fail because its time was over, and for no other reason.
bool is_late_at_most(const Evidence& evidence);

/// Whether more than one fault with a visible effect was planned.
bool has_two_faults(const Evidence& evidence);

/// Whether the plan changes the usual order.
bool changes_order(const Plan& plan);

}  // namespace lastref::harness::oracle
