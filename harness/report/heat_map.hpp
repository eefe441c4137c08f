// heat_map: the cells of swept programs on a page, as tables of points and faults. A script draws
// the rows that are in sight, so that a page may have any number of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "harness/report/report.hpp"

namespace lastref::harness {

struct OutcomeCounts {
  std::size_t cells = 0;
  std::size_t clean = 0;
  std::size_t findings = 0;  ///< Cells with a finding
  std::size_t not_injected = 0;
  std::size_t not_tried = 0;
};

OutcomeCounts counts_of(const SweepMap& map);

/// For the page's style and script.
extern const std::string_view heat_map_style;
extern const std::string_view heat_map_script;

/// The tables without rows, and the data from which the script makes them. Empty: the report has no
/// maps. Findings are numbered from 1: the groups of the report, then the known ones.
std::string heat_maps_of(const Report& report);

}  // namespace lastref::harness
