// Probe: a condition that a campaign has to have seen. The table of them is probes.def.
//
// Whoever meets the condition says so once, `os.saw(Probe::torn_start_skipped)`, and nothing else
// depends on it: no fault strikes there, and the product pays one empty virtual call.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lastref {

/// One row of probes.def.
enum class Probe : std::uint8_t {
#define LASTREF_PROBE(name, sentence) name,
#include <lastref/probes.def>
#undef LASTREF_PROBE
};

/// A row of the table of probes.
struct ProbeRow {
  Probe probe;
  std::string_view name;
  std::string_view sentence;  ///< What is so when it is seen, without a full stop.
};

/// All rows, in the order of the enumeration.
std::span<const ProbeRow> probe_rows() noexcept;

}  // namespace lastref
