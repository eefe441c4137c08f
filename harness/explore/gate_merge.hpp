// gate_merge: the results of a whole gate from those of its shards.
#pragma once

#include <string>
#include <vector>

#include <lastref/error.hpp>

#include "harness/explore/gate_part.hpp"

namespace lastref::harness {

struct NamedPart {
  std::string name;  ///< Of its folder, for errors
  GatePart part;
};

/// The totals are those of a gate that was not divided, except for what is counted by run: the
/// shards make more runs of the second level. See campaign.hpp.
///
/// @param parts  at least one, in any order
///
/// Errors          invalid_argument: the parts are of different gates;
///                 file_exists: two parts are the same shard;
///                 no_such_file_or_directory: a shard is missing.
Result<GateResults> merge_parts(std::vector<NamedPart> parts);

}  // namespace lastref::harness
