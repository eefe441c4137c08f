// JSON: a machine-readable report. Keys are stable; new ones may be added.
#pragma once

#include <string>

#include "harness/report/report.hpp"

namespace lastref::harness {

/// One object, indented, with an end of line. Bytes that are not UTF-8 are replaced.
std::string to_json(const Report& report);

}  // namespace lastref::harness
