// ReportOutput: the destinations of a verb's report. Text is for people; JSON, JUnit XML, SARIF,
// pages and traces are written to files if options name them. In a job of GitHub Actions, findings
// are also annotations of the job.
#pragma once

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "harness/cli/command_line.hpp"
#include "harness/cli/target.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/report/report.hpp"

namespace lastref::harness {

class ReportOutput {
 public:
  explicit ReportOutput(ReportFiles files = {});

  /// Opens the files now rather than after the run; refuses if one cannot be written.
  bool open(Invocation& invocation);
  /// Writes the report and sets the exit code. The text goes to `people`.
  void write(const Report& report, std::ostream& people, Invocation& invocation);
  /// Whether a file is "-".
  bool takes_standard_output() const;

 private:
  using Writer = std::string (*)(const Report&);

  std::vector<std::pair<Target, Writer>> targets_;
};

/// Whether standard error is a terminal.
bool is_terminal();

}  // namespace lastref::harness
