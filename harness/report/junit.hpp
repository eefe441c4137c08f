// JUnit: a report as CI systems read test results. A scenario, or a program, is a case.
#pragma once

#include <string>
#include <string_view>

#include "harness/report/report.hpp"

namespace lastref::harness {

std::string to_junit(const Report& report);

/// Text valid in XML 1.0: special characters are escaped, and bytes that are not UTF-8 or
/// characters that XML forbids are replaced by '?'.
std::string xml_of(std::string_view text);

}  // namespace lastref::harness
