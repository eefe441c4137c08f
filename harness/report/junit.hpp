// JUnit: a report as CI systems read test results. A suite is a family of scenarios.
#pragma once

#include <string>
#include <string_view>

#include "harness/report/report.hpp"

namespace lastref::harness {

std::string to_junit(const Report& report);

/// Text as it may stand in XML 1.0: signs with a meaning escaped, what is no UTF-8 or no character
/// of XML replaced by '?'.
std::string xml_of(std::string_view text);

}  // namespace lastref::harness
