// leftovers: what may remain when a run is over.
#pragma once

#include <string>
#include <string_view>

#include "harness/oracle/evidence.hpp"

namespace lastref::harness::oracle {

/// Whether `path` is a leftover that the scenario intends, or lies in one.
bool may_stay(const Scenario& scenario, std::string_view path);
/// The same, or it was forgotten, or made without a reference, where the scenario does that.
bool may_stay(const Evidence& evidence, std::string_view path);

/// The path of a resource as operations have it: "shm:/a" is "/dev/shm/a".
std::string path_of(std::string_view resource);

/// The resource that a removal removes if it succeeds, in the format of the journal; empty if the
/// record is of another call.
std::string resource_removed_by(const Record& record);

/// Whether the product promised to clean up at the next start at the latest. A protocol without a
/// ledger promises nothing past the death or failure of its tracker.
bool is_promised(const Evidence& evidence);

/// Whether a fault made each check report that the path does not exist: a process that cleans up
/// and gets that answer has done what it can.
bool was_said_to_be_gone(const Evidence& evidence, std::string_view path);

/// Names that remain after the next start.
struct Leftovers {
  std::uint32_t promised = 0;  ///< The product promised to remove them.
  PermittedCount<std::uint32_t> permitted = {};
};
Leftovers leftovers_of(const Evidence& evidence);

}  // namespace lastref::harness::oracle
