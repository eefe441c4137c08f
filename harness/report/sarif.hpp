// SARIF 2.1.0 and the commands of GitHub Actions: findings for code review tools. Both show the
// fingerprints, so that a tool knows a finding again.
#pragma once

#include <string>

#include "harness/report/report.hpp"

namespace lastref::harness {

/// One log with one run, indented, with an end of line. A rule is a claim, by the name before its
/// colon. Bytes that are not UTF-8 are replaced.
std::string to_sarif(const Report& report);

/// "::error file=...,line=...,title=...::..." and an end of line for each group of violations, or
/// one warning if something else is wrong. They are shown at the line, and at the job.
std::string to_annotations(const Report& report);

}  // namespace lastref::harness
