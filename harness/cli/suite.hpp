// suite: the programs of a project that `lastref run --suite` sweeps, and what is known about them.
//
//   [story.backup]                      its name; the keys are the options of lastref run
//   command = "./backup.sh"             for a shell; or a list, a program and its arguments
//   allow = ["/tmp/backup.lock"]
//   timeout = 20
//
//   [[known]]                           a finding that is no violation
//   story = "backup"
//   fingerprint = "1a2b3c4d"            as the report has it
//   reason = "issue 12"
//   until = 2027-01-31                  optional: from the next day on it is a violation
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lastref/error.hpp>

#include "harness/cli/command_line.hpp"
#include "harness/report/report.hpp"

namespace lastref::harness {

struct Story {
  std::string name;
  RunVerbOptions options = {};
  std::size_t line = 0;  ///< Of the file
};

struct KnownFinding {
  std::string story;
  std::string fingerprint;
  std::string reason;
  std::optional<std::chrono::year_month_day> until = {};  ///< The last day
};

/// Its last day has passed.
bool is_expired(const KnownFinding& known, std::chrono::year_month_day today);

struct Suite {
  std::vector<Story> stories;
  std::vector<KnownFinding> known = {};

  std::vector<std::string> names() const;
};

/// @param name  of the file, for errors
///
/// Errors          invalid_argument: the file, the line, and what is wrong there.
Result<Suite> parse_suite(std::string_view text, const std::string& name);

/// Takes the findings out of the report that are known on that day, and tells of each known one
/// whether it was seen. Of stories that were tried completely, it tells which are no longer seen.
void set_known_apart(Report& report,
                     const std::vector<KnownFinding>& known,
                     std::chrono::year_month_day today,
                     const std::vector<std::string>& complete);

}  // namespace lastref::harness
