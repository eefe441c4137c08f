// leftovers: what may be there when a run is over.
#pragma once

#include <string_view>

#include "harness/oracle/evidence.hpp"

namespace lastref::harness::oracle {

/// Whether `path` is what the scenario leaves behind on purpose, or lies in it.
bool may_stay(const Scenario& scenario, std::string_view path);

/// Whether somebody promised to clean up at the next start at the latest. A protocol without a
/// ledger promises nothing past the death or failure of its tracker.
bool is_promised(const Evidence& evidence);

/// Whether each look at it was made to say, by a fault, that nothing is there: who cleans up and
/// hears that has done all he can.
bool was_said_to_be_gone(const Evidence& evidence, std::string_view path);

}  // namespace lastref::harness::oracle
