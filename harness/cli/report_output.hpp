// ReportOutput: the destinations of a verb's report. Text is for people; JSON and JUnit XML are
// written to files if options name them.
#pragma once

#include <iosfwd>
#include <string>

#include "harness/cli/target.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/report/report.hpp"

namespace lastref::harness {

class ReportOutput {
 public:
  explicit ReportOutput(std::string json = {}, std::string junit = {});

  /// Opens the files now rather than after the run; refuses if one cannot be written.
  bool open(Invocation& invocation);
  /// Writes the report and sets the exit code. The text goes to `people`.
  void write(const Report& report, std::ostream& people, Invocation& invocation);
  /// Whether a file is "-".
  bool takes_standard_output() const;

 private:
  Target json_;
  Target junit_;
};

/// Whether standard error is a terminal.
bool is_terminal();

}  // namespace lastref::harness
