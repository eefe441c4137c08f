#include "harness/cli/run_timeline.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "harness/scenario/pattern.hpp"
#include "harness/warden/tree_fault.hpp"

namespace lastref::harness {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const warden::CallSeen& call) {
  return fmt::format("{}({})#{}", call.call, pattern_of(call.object), call.k);
}

/// Of each call; empty: it has none.
std::vector<std::string> marks_of(const JudgedRun& run) {
  const std::vector<warden::CallSeen>& calls = run.watched.calls;
  std::vector<std::string> marks(calls.size());
  const auto mark = [&](std::size_t at, const std::string& text) {
    marks[at] += (marks[at].empty() ? "" : ", ") + text;
  };
  std::map<std::string, std::string> made;
  for (const warden::Leftover& each : run.left) {
    made.emplace(each.maker, each.path);
  }
  for (std::size_t at = 0; at < calls.size(); ++at) {
    for (const std::size_t fault : calls[at].faults) {
      mark(at, "fault: " + to_text(run.faults[fault].action));
    }
    if (const auto found = made.find(calls[at].role + '/' + text_of(calls[at]));
        found != made.end()) {
      mark(at, "leftover: " + found->second);
    }
  }
  return marks;
}

/// One row for each event.
class Timeline {
 public:
  explicit Timeline(const JudgedRun& run) : run_(run) {}

  Json rows() {
    add_calls();
    const double end = run_.watched.seconds;
    for (const warden::Hung& each : run_.watched.hung) {
      add({.role = each.role,
           .text = fmt::format("{}({})", each.waiting.call, each.waiting.object),
           .mark = "still waits",
           .kind = "wait",
           .thread = each.waiting.thread,
           .seconds = end});
    }
    for (const warden::Stayed& each : run_.watched.stayed) {
      const std::string locks =
          each.locks.empty() ? "" : fmt::format(", with locks on {}", fmt::join(each.locks, ", "));
      add({.role = each.process.role,
           .text = each.process.title + locks,
           .mark = each.is_zombie ? "zombie" : "still runs",
           .kind = "stay",
           .thread = each.process.process,
           .seconds = end});
    }
    return std::move(rows_);
  }

 private:
  struct Row {
    std::string role;
    std::string text;
    std::string mark;
    std::string_view kind;
    int thread = 0;
    double seconds = 0;
  };

  void add(const Row& row) {
    const auto process =
        std::ranges::find(run_.watched.processes, row.role, &warden::ProcessSeen::role);
    const int number = process == run_.watched.processes.end() ? row.thread : process->process;
    rows_.push_back({{"role", row.role},
                     {"text", row.text},
                     {"mark", row.mark},
                     {"kind", row.kind},
                     {"process", number},
                     {"thread", row.thread},
                     {"seconds", row.seconds}});
  }

  /// A process ends after its last call.
  void add_calls() {
    const std::vector<warden::CallSeen>& calls = run_.watched.calls;
    const std::vector<std::string> marks = marks_of(run_);
    std::map<std::string_view, std::size_t> last;
    for (std::size_t at = 0; at < calls.size(); ++at) {
      last[calls[at].role] = at;
    }
    for (std::size_t at = 0; at < calls.size(); ++at) {
      const bool is_lock = calls[at].call == "flock" || calls[at].call == "fcntl";
      add({.role = calls[at].role,
           .text = text_of(calls[at]),
           .mark = marks[at],
           .kind = is_lock ? "lock" : "call",
           .thread = calls[at].thread,
           .seconds = calls[at].seconds});
      if (last[calls[at].role] == at) {
        add_end(calls[at].role, calls[at].seconds);
      }
    }
    for (const warden::ProcessSeen& each : run_.watched.processes) {
      if (!last.contains(each.role)) {
        add_end(each.role, run_.watched.seconds);
      }
    }
  }

  void add_end(const std::string& role, double seconds) {
    const warden::Watched& watched = run_.watched;
    const auto process = std::ranges::find(watched.processes, role, &warden::ProcessSeen::role);
    const auto is_it = [&](const auto& stayed) { return stayed.process.role == role; };
    if (process == watched.processes.end() || std::ranges::any_of(watched.stayed, is_it)) {
      return;
    }
    const auto crash = std::ranges::find(watched.crashes, role, &warden::Crash::role);
    const bool is_crash = crash != watched.crashes.end();
    std::optional<os::ChildExit> end;
    if (role == "root") {
      end = watched.root;
    } else if (is_crash) {
      end = {.code = crash->signal, .killed = true};
    } else if (process->wait_status) {
      end = warden::exit_of(*process->wait_status);
    }
    add({.role = role,
         .text = end ? how_it_ended(*end) : "ends",
         .mark = is_crash             ? "crash"
                 : end && end->killed ? "ends by a signal"
                                      : "",
         .kind = "end",
         .thread = process->process,
         .seconds = seconds});
  }

  const JudgedRun& run_;
  Json rows_ = Json::array();
};

}  // namespace

bool wants_timeline(const RunVerbOptions& options) noexcept {
  return options.timeline || !options.files.html.empty() || !options.files.trace.empty();
}

nlohmann::ordered_json timeline_of(const JudgedRun& run) {
  return Timeline(run).rows();
}

}  // namespace lastref::harness
