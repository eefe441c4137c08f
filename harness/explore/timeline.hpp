// Timeline: what the actors of a run did around its switches and faults, with a column for each
// actor.
//
// The window of a timeline begins at the first switch or fault and ends at the last one, or where
// an actor continues that had to wait. Without either it is the whole run. An object is raced for
// if two actors of the window access it there, or close to it, and one of them writes. The rows are
// the steps on such objects, and all switches, faults, starts and ends of processes, and findings.
// If no object is raced for, they are all steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/journal/run_log.hpp"
#include "harness/report/report.hpp"
#include "harness/scenario/finding.hpp"

namespace lastref::harness {

struct TimelineRow {
  enum class Kind : std::uint8_t {
    step,       ///< A call, or a step inside a process
    operation,  ///< What the steps after it belong to
    turn,       ///< A switch: `actor` has to wait, and `to` continues; or a time limit ends early.
    event,      ///< The start or end of a process, and what else the world observed
    finding,
    gap  ///< Of steps that are left out. It belongs to no actor.
  };
  Kind kind = Kind::step;
  std::size_t actor = 0;  ///< The index of its column
  std::optional<std::size_t> to = {};
  std::string text = {};
  bool is_race = false;   ///< On an object that is raced for
  bool is_fault = false;  ///< A fault was injected into it.
};

struct Timeline {
  std::vector<std::string> actors = {};  ///< Those with a row: "worker_1", "worker_1 thread 2"
  std::vector<std::string> others = {};  ///< Those without one
  std::vector<TimelineRow> rows = {};
  std::vector<std::string> objects = {};  ///< Those that are raced for
  std::vector<Finding> findings = {};     ///< Those without a row: they were found after the run.
  std::size_t switches = 0;               ///< In the whole run
};

Timeline timeline_of(const RunLog& log, std::span<const Finding> findings);

struct TimelineLayout {
  std::size_t width = 120;     ///< Of a line, in bytes
  std::size_t rows_max = ~0U;  ///< The rows closest to switches, faults and findings are kept.
};

/// The timeline for a terminal: columns, or a list if there are too many actors for columns.
std::string to_text(const Timeline& timeline, const TimelineLayout& layout = {});

/// A self-contained page for light and dark mode. `title` and `command` are shown above it.
std::string to_html(const Timeline& timeline, const std::string& title, const std::string& command);

/// Adds a short timeline to a violation in an unusual schedule. If an object was raced for, the
/// recent calls are those on it.
void explain(Violation& violation, const Timeline& timeline);

}  // namespace lastref::harness
