// JUnit: a report as CI systems read test results. A scenario, or a program, is a case.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "harness/report/report.hpp"

namespace lastref::harness {

std::string to_junit(const Report& report);

/// The length of the UTF-8 character at the front, 0 if it is not one that XML allows.
std::size_t size_in_xml(std::string_view text);

/// Text valid in XML 1.0: special characters are escaped, and bytes that are not UTF-8 or
/// characters that XML forbids are replaced by '?'.
std::string xml_of(std::string_view text);

}  // namespace lastref::harness
