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

}  // namespace lastref::harness::oracle
