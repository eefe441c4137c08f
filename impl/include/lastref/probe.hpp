// Probe: a condition that has to occur in a campaign. The table of probes is probes.def.
//
// Code that meets the condition reports it once with `os.hit(Probe::torn_start_skipped)`. Nothing
// else depends on it: no fault is injected there, and the product pays one empty virtual call.
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
  std::string_view sentence;  ///< The condition, without a full stop.
};

/// All rows, in the order of the enumeration.
std::span<const ProbeRow> probe_rows() noexcept;

}  // namespace lastref
