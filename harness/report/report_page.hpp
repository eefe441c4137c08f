// report_page: a report as a self-contained page: summary, findings, and the cells of a sweep.
#pragma once

#include <string>

#include "harness/report/report.hpp"

namespace lastref::harness {

/// Safe for any names. It is readable in light and dark mode.
std::string to_html(const Report& report);

}  // namespace lastref::harness
