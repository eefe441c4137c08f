#include "harness/report/text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "harness/platform/names.hpp"

namespace lastref::harness {
namespace {

constexpr double pause_on_terminal = 0.1;  // seconds
constexpr double pause_in_log = 10;
constexpr std::size_t label_column = 14;

/// "STAYED         child.1 (sh)"; further lines are indented.
std::string labeled(std::string_view label, std::string_view lines) {
  std::string text;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    text +=
        fmt::format("{:<{}} {}\n", at == 0 ? label : "", label_column, lines.substr(at, end - at));
    at = end + 1;
  }
  return text;
}

std::string text_of(const ViolationGroup& group) {
  std::string text;
  for (Violation violation : group.first) {
    if (!text.empty()) {
      violation.timeline.clear();  // One of a kind is enough.
    }
    text += group.label.empty() ? to_text(violation) + "\n" : labeled(group.label, violation.seen);
  }
  if (group.count > group.first.size()) {
    text += fmt::format("... and {} more violations of this claim in {}\n\n",
                        group.count - group.first.size(),
                        group.scenario);
  }
  return text;
}

std::string text_of_differences(const Report& report) {
  std::string text;
  for (const Difference& difference : report.differences) {
    text += fmt::format("NOT DETERMINISTIC {}\n  observed      {}\n  reproduce     {}\n\n",
                        difference.scenario,
                        difference.seen,
                        difference.replay);
  }
  return text;
}

}  // namespace

std::string to_text(const Violation& violation) {
  std::string text = fmt::format("VIOLATION {}\n  claim         {}\n  observed      {}\n",
                                 violation.scenario,
                                 violation.claim,
                                 violation.seen);
  for (const std::string& line : violation.last_crossings) {
    text += fmt::format("  {}  {}\n",
                        &line == violation.last_crossings.data() ? "recent calls" : "            ",
                        line);
  }
  if (!violation.repeats && violation.killed.empty()) {
    text += "  NOTE          a second run of the same plan did not violate this claim\n";
  }
  if (!violation.killed.empty()) {
    text += fmt::format("  killed        {}\n", violation.killed);
  }
  if (violation.switches > 0) {
    text += fmt::format("  schedule      {} switches or pauses\n", violation.switches);
  }
  if (!violation.fingerprint.empty()) {
    text += fmt::format("  fingerprint   {}\n", violation.fingerprint);
  }
  text += fmt::format("  reproduce     {}\n", violation.replay);
  if (!violation.timeline.empty()) {
    text += "  timeline      in short; all rows: add --timeline to the command, or --html FILE\n" +
            violation.timeline;
  }
  if (!violation.standard_error.empty()) {
    text += fmt::format("standard error of the run:\n{}\n", violation.standard_error);
  }
  return text;
}

std::string to_text(const CampaignProgress& progress) {
  const double rate =
      progress.seconds > 0 ? static_cast<double>(progress.runs) / progress.seconds : 0;
  std::string count = std::to_string(progress.done);
  if (progress.total != 0) {
    count += fmt::format(" of {}", progress.total);
  }
  return fmt::format("{:<11} {:<16} {:>6.1f} s {:>6.0f} runs/s  {}",
                     name_of(progress.phase),
                     count,
                     progress.seconds,
                     rate,
                     counted(progress.violations, "violation"));
}

std::string to_text(const Report& report) {
  std::string text = report.before;
  for (const ViolationGroup& group : report.groups) {
    text += text_of(group);
  }
  text += text_of_differences(report) + report.after;
  if (report.exit != Exit::clean && !report.repeat.empty()) {
    text += fmt::format("repeat: {}\n", report.repeat);
  }
  return text + fmt::format("{} (exit {})\n", report.verdict, static_cast<int>(report.exit));
}

void ProgressLine::show(const CampaignProgress& progress) {
  const bool turns = progress.phase != phase_;
  if (progress.seconds < next_ && !turns) {
    return;
  }
  phase_ = progress.phase;
  next_ = progress.seconds + (terminal_ ? pause_on_terminal : pause_in_log);
  shown_ = true;
  write_(terminal_ ? "\r\x1b[K" + to_text(progress) : to_text(progress) + "\n");
}

void ProgressLine::end() {
  if (terminal_ && shown_) {
    write_("\r\x1b[K");
  }
  shown_ = false;
}

}  // namespace lastref::harness
