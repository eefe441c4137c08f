// Text: a report for people, and the progress line.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "harness/report/progress.hpp"
#include "harness/report/report.hpp"

namespace lastref::harness {

/// The failures in full, then the table, then the verdict in one line.
std::string to_text(const Report& report);

/// One finding of one run, with the crossings that led to it.
std::string to_text(const Violation& violation);

/// "matrix  1200 of 8400  812 runs/s  no violation"
std::string to_text(const CampaignProgress& progress);

/// Reports progress from time to time: on a terminal in one line that is rewritten, otherwise
/// rarely, in plain lines.
class ProgressLine {
 public:
  using Write = std::function<void(std::string_view)>;

  ProgressLine(bool terminal, Write write) : terminal_(terminal), write_(std::move(write)) {}

  void show(const CampaignProgress& progress);
  /// Erases the line, if there is one.
  void end();

 private:
  bool terminal_;
  Write write_;
  double next_ = 0;  ///< seconds
  bool shown_ = false;
  CampaignPhase phase_ = CampaignPhase::clean;
};

}  // namespace lastref::harness
