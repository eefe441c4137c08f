// GatePart: the results of one shard of a gate, or of a whole one, as a file that has all of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <lastref/error.hpp>

#include "harness/choice/shard.hpp"
#include "harness/explore/gate_results.hpp"

namespace lastref::harness {

/// Something that decides what a gate runs: "--seed", "1".
struct GateTrait {
  std::string name;
  std::string value;  ///< Empty: it has none.

  bool operator==(const GateTrait&) const = default;
};

struct GatePart {
  std::vector<GateTrait> gate = {};  ///< The same in all shards of a gate
  Shard shard = {};
  GateResults results = {};
};

/// One JSON object.
std::string to_text(const GatePart& part);
/// Errors          bad_message: what is wrong. The part may be of any gate.
Result<GatePart> parse_gate_part(std::string_view text);

}  // namespace lastref::harness
