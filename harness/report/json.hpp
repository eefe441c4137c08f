// JSON: a machine-readable report. Keys are stable; new ones may be added.
#pragma once

#include <string>

#include "harness/report/report.hpp"

namespace lastref::harness {

/// One object, indented, with an end of line. For bytes that are not UTF-8, see bytes_in_json.
std::string to_json(const Report& report);

}  // namespace lastref::harness
