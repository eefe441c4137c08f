#include "harness/cli/run_timeline.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/platform/names.hpp"
#include "harness/scenario/pattern.hpp"
#include "harness/warden/tree_fault.hpp"

namespace lastref::harness {
namespace {

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

}  // namespace

nlohmann::ordered_json timeline_of(const JudgedRun& run) {
  auto rows = nlohmann::ordered_json::array();
  const auto add = [&](const std::string& role, const std::string& text, const std::string& mark) {
    rows.push_back({{"role", role}, {"text", text}, {"mark", mark}});
  };
  const std::vector<std::string> marks = marks_of(run);
  for (std::size_t at = 0; at < marks.size(); ++at) {
    add(run.watched.calls[at].role, text_of(run.watched.calls[at]), marks[at]);
  }
  for (const warden::Hung& each : run.watched.hung) {
    add(each.role, fmt::format("{}({})", each.waiting.call, each.waiting.object), "still waits");
  }
  for (const warden::Stayed& each : run.watched.stayed) {
    add(each.process.role, each.process.title, each.is_zombie ? "zombie" : "still runs");
  }
  for (const warden::Crash& each : run.watched.crashes) {
    add(each.role, "SIG" + name_of_signal(each.signal), "crash");
  }
  const os::ChildExit& root = run.watched.root;
  add("root",
      root.killed ? "SIG" + name_of_signal(root.code) : fmt::format("exit {}", root.code),
      root.killed ? "ends by a signal" : "");
  return rows;
}

}  // namespace lastref::harness
