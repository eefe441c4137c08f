#include "harness/cli/run_report.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/explore/plans.hpp"
#include "harness/platform/names.hpp"
#include "harness/scenario/pattern.hpp"
#include "harness/warden/supervisor_signals.hpp"
#include "harness/warden/tree_fault.hpp"

namespace lastref::harness {
namespace {

using Json = nlohmann::ordered_json;

std::string how_it_ended(const os::ChildExit& root) {
  return root.killed ? "SIG" + name_of_signal(root.code) : fmt::format("exit {}", root.code);
}

std::string how_it_waits(const warden::Waiting& waiting) {
  if (waiting.inside == "seccomp_do_user_notification") {
    return ", which a fault delays";
  }
  return waiting.inside.empty() || waiting.inside == "0" ? "" : ", " + waiting.inside;
}

std::string line_of(const warden::Stayed& each, double grace, bool root_ended) {
  std::string text = fmt::format("STAYED         {} ({}), {} s after {}{}",
                                 each.who.role,
                                 each.who.title,
                                 grace,
                                 root_ended ? "the root had ended" : "it was asked to end",
                                 each.is_zombie ? ", a zombie" : "; we have killed it");
  for (const std::string& lock : each.locks) {
    text += ", holds a lock of " + lock;
  }
  return text + "\n";
}

std::string line_of(const warden::CommandFailure& each) {
  std::string text = fmt::format(
      "FAILS          {} {}: {}\n", each.option, harness::quoted(each.command), each.how);
  for (std::size_t at = 0; at < each.output.size();) {
    const std::size_t end = std::min(each.output.find('\n', at), each.output.size());
    text += "               " + each.output.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return text;
}

}  // namespace

std::string lines_of(std::string_view word, const std::vector<warden::Hung>& all) {
  std::string text;
  for (const auto& [role, waiting] : all) {
    text += fmt::format("{:<14} {} (thread {}) {}{}{}{}\n",
                        word,
                        role,
                        waiting.thread,
                        waiting.call == "none" ? "runs" : "in ",
                        waiting.call == "none" ? "" : waiting.call,
                        waiting.object.empty() ? "" : "(" + waiting.object + ")",
                        how_it_waits(waiting));
  }
  return text;
}

bool RunReport::all_struck() const {
  return std::ranges::find(watched.struck, false) == watched.struck.end();
}

bool RunReport::has_struck() const {
  return std::ranges::find(watched.struck, true) != watched.struck.end();
}

bool RunReport::ends_as_expected() const {
  if (options.expected_exits.empty()) {
    const bool by_our_signal =
        watched.told_to_end && watched.root.killed && name_of_signal(watched.root.code) == "TERM";
    return watched.root == os::ChildExit{} || by_our_signal;
  }
  constexpr int by_signal = 128;  // As shells report it
  const int code = watched.root.code + (watched.root.killed ? by_signal : 0);
  return std::ranges::find(options.expected_exits, code) != options.expected_exits.end();
}

bool RunReport::fails_by_itself() const {
  return !has_struck() && !ends_as_expected() && !watched.root_was_killed && !watched.interrupted;
}

std::string RunReport::findings() const {
  std::string text;
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count > 0) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
    }
  };
  add(left.size(), "left behind");
  add(open.size(), "open to others");
  add(watched.stayed.size(), "stayed");
  add(watched.crashes.size(), "crashed");
  add(watched.growing.size(), "growing");
  add(failures.size(), "failed");
  const bool is_asked = has_struck() && !options.expected_exits.empty();
  if (is_asked && !ends_as_expected() && !watched.root_was_killed) {
    text += fmt::format(
        "{}{}, which was not expected", text.empty() ? "" : ", ", how_it_ended(watched.root));
  }
  if (watched.is_too_long || (!watched.hung.empty() && !watched.interrupted)) {
    text += fmt::format(
        "{}{}", text.empty() ? "" : ", ", watched.is_too_long ? "it takes too long" : "it hangs");
  }
  return text;
}

Exit RunReport::exit() const {
  if (watched.interrupted || watched.perturbed > 0) {
    return Exit::incomplete;
  }
  if (!findings().empty()) {
    return Exit::violation;
  }
  if (fails_by_itself()) {
    return Exit::unusable;
  }
  return all_struck() ? Exit::clean : Exit::incomplete;
}

std::string RunReport::verdict() const {
  if (watched.interrupted) {
    return "interrupted";
  }
  if (watched.perturbed > 0) {
    return "no verdict: in each try a signal interrupted a call while lastref held it; --setup "
           "allows more tries";
  }
  std::string failure = fails_by_itself() ? fmt::format("the program itself fails, with {}",
                                                        how_it_ended(watched.root))
                                          : "";
  if (std::string found = findings(); !found.empty()) {
    return failure.empty() ? found : found + "; " + failure;
  }
  if (!failure.empty()) {
    return failure;
  }
  return all_struck() ? "clean" : "incomplete: a fault did not strike";
}

std::string RunReport::command_again() const {
  std::string text = "lastref run";
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) {
      text += fmt::format(" {} {}", option, harness::quoted(value));
    }
  };
  for (const auto& fault : faults) {
    add("--fault", warden::to_text(fault));
  }
  text += options.unlikely ? " --unlikely" : "";
  std::ranges::for_each(options.also, std::bind_front(add, "--also"));
  std::ranges::for_each(options.private_folders, std::bind_front(add, "--private"));
  std::ranges::for_each(options.limits, std::bind_front(add, "--limit"));
  std::ranges::for_each(options.allowed, std::bind_front(add, "--allow"));
  std::ranges::for_each(options.open, std::bind_front(add, "--open"));
  add("--setup", options.setup);
  add("--ready", options.ready);
  add("--work", options.work);
  text += options.rounds > 1 ? fmt::format(" --rounds {}", options.rounds) : "";
  add("--check", options.check);
  add("--recover", options.recover);
  for (const int code : options.expected_exits) {
    add("--expect-exit", std::to_string(code));
  }
  text += options.grace != RunVerbOptions().grace ? fmt::format(" --grace {}", options.grace) : "";
  text += options.timeout > 0 ? fmt::format(" --timeout {}", options.timeout) : "";
  text += options.slowdown > 0 ? fmt::format(" --slowdown {}", options.slowdown) : "";
  text += options.repeat > 1 ? fmt::format(" --repeat {}", options.repeat) : "";
  text += " --";
  for (const std::string& word : options.command) {
    text += " " + harness::quoted(word);
  }
  return text;
}

std::string RunReport::list_text() const {
  std::string text;
  for (const auto& each : watched.processes) {
    text += fmt::format("process {:<16} {:<16} {}\n", each.role, each.title, each.words);
  }
  for (const warden::Point& each : points.all) {
    text += fmt::format("call    {}\n", each.to_text());
  }
  if (!points.difference.empty()) {
    text += fmt::format("differs {}\n", points.difference);
  }
  for (const std::string& each : watched.inherited) {
    text += fmt::format("inherited descriptor {}\n", each);
  }
  return text;
}

std::string RunReport::faults_text() const {
  std::string text;
  for (std::size_t at = 0; at < watched.struck.size(); ++at) {
    const std::string& reason = watched.reasons[at];
    const std::string what = warden::to_text(faults[at]);
    text += watched.struck[at]
                ? fmt::format("STRUCK         {}, at {}\n", what, watched.struck_at[at])
                : fmt::format("DID NOT STRIKE {}{}\n", what, reason.empty() ? "" : ": " + reason);
  }
  return text;
}

std::string RunReport::findings_text() const {
  std::string text;
  for (const auto& each : left) {
    text += fmt::format(
        "LEFT BEHIND    {} ({}), made by {}\n", pattern_of(each.path), each.kind, each.maker);
  }
  for (const auto& each : open) {
    text += fmt::format("OPEN TO OTHERS {} ({}), which other users can write to, made by {}\n",
                        pattern_of(each.path),
                        each.kind,
                        each.maker);
  }
  for (const auto& each : watched.stayed) {
    text += line_of(each, options.grace, !watched.interrupted && !watched.told_to_end);
  }
  if (!watched.stayed.empty() && !left.empty()) {
    text +=
        "               a process that was killed may have removed it later: --grace gives more "
        "time\n";
  }
  text += lines_of(watched.interrupted   ? "WAITED"
                   : watched.is_too_long ? "TIME LIMIT"
                                         : "DEADLOCK",
                   watched.hung);
  for (const auto& each : watched.growing) {
    text += fmt::format("GROWS          {}: {} {}, and {} some rounds later, {:.2f} each round\n",
                        each.role,
                        each.from,
                        each.what,
                        each.to,
                        each.each_round);
  }
  for (const auto& each : watched.crashes) {
    text += fmt::format("CRASHED        {}: SIG{}\n", each.role, name_of_signal(each.signal));
  }
  for (const auto& each : failures) {
    text += line_of(each);
  }
  return text;
}

std::string RunReport::unseen_text() const {
  std::string text;
  for (const auto& each : hidden) {
    text += fmt::format(
        "HIDDEN         {} names in {}, which it could not see there\n", each.count, each.folder);
  }
  for (const auto& each : not_lasting.first) {
    text += fmt::format("DOES NOT LAST  {}, {}\n", pattern_of(each.path), each.what);
  }
  if (not_lasting.more > 0) {
    text += fmt::format("DOES NOT LAST  ... and {} more\n", not_lasting.more);
  }
  for (const auto& each : watched.refused) {
    text += fmt::format("REFUSED        {}\n", warden::to_text(each));
  }
  for (const std::string& each : watched.blind) {
    text += fmt::format("NOT SEEN       {}\n", each);
  }
  if (watched.unread > 0) {
    text += fmt::format("NOT SEEN       {} names that calls were given could not be read\n",
                        watched.unread);
  }
  if (watched.processor) {
    text += fmt::format(
        "ONE PROCESSOR  number {}, for the program and for us: this kernel has no "
        "turns (Linux 6.6)\n",
        *watched.processor);
  }
  return text;
}

std::string RunReport::to_text() const {
  std::string text = options.list ? list_text() : "";
  text += faults_text() + findings_text() + unseen_text();
  text += fmt::format("{} processes, {} calls examined, {} interrupted by us; root: {}\n",
                      watched.processes.size(),
                      watched.stops,
                      watched.perturbed,
                      how_it_ended(watched.root));
  if (runs > 1 || perturbed_runs > 0) {
    text += fmt::format(
        "{} runs{}\n",
        runs,
        perturbed_runs > 0
            ? fmt::format("; {} more were interrupted by us, and repeated", perturbed_runs)
            : "");
  }
  if (exit() != Exit::clean) {
    text += "repeat: " + command_again() + "\n";
  }
  return text + fmt::format("{} (exit {})\n", verdict(), static_cast<int>(exit()));
}

namespace {

/// One object for each.
template <typename All, typename Object>
Json list_of(const All& all, const Object& object) {
  Json list = Json::array();
  for (const auto& each : all) {
    list.push_back(object(each));
  }
  return list;
}

void add_findings(Json& json, const RunReport& report) {
  const warden::Watched& watched = report.watched;
  const auto name = [](const warden::Leftover& each) -> Json {
    return {{"path", each.path}, {"kind", each.kind}, {"maker", each.maker}};
  };
  json["left_behind"] = list_of(report.left, name);
  json["open_to_others"] = list_of(report.open, name);
  json["stayed"] = list_of(watched.stayed, [](const auto& each) -> Json {
    return {{"role", each.who.role},
            {"title", each.who.title},
            {"zombie", each.is_zombie},
            {"locks", each.locks}};
  });
  json["hangs"] = list_of(watched.hung, [](const auto& each) -> Json {
    return {{"role", each.role},
            {"thread", each.waiting.thread},
            {"call", each.waiting.call},
            {"object", each.waiting.object},
            {"inside", each.waiting.inside}};
  });
  json["grows"] = list_of(watched.growing, [](const auto& each) -> Json {
    return {{"role", each.role},
            {"what", each.what},
            {"from", each.from},
            {"to", each.to},
            {"each_round", each.each_round}};
  });
  json["crashes"] = list_of(watched.crashes, [](const auto& each) -> Json {
    return {{"role", each.role}, {"signal", name_of_signal(each.signal)}};
  });
  json["failures"] = list_of(report.failures, [](const auto& each) -> Json {
    return {{"option", each.option},
            {"command", each.command},
            {"how", each.how},
            {"output", each.output}};
  });
  json["hidden"] = list_of(report.hidden, [](const auto& each) -> Json {
    return {{"folder", each.folder}, {"names", each.count}};
  });
  json["not_lasting"] = list_of(report.not_lasting.first, [](const auto& each) -> Json {
    return {{"path", each.path}, {"what", each.what}};
  });
  json["not_lasting_more"] = report.not_lasting.more;
  json["not_seen"] = watched.blind;
  json["refused"] = list_of(watched.refused, [](const auto& each) -> Json {
    return {{"role", each.role},
            {"title", each.title},
            {"executable", each.executable},
            {"call", each.call},
            {"error", name_of_error(each.error)}};
  });
  json["unread"] = watched.unread;
}

}  // namespace

std::string RunReport::to_json() const {
  Json json;
  json["exit"] = static_cast<int>(exit());
  json["verdict"] = verdict();
  json["command"] = options.command;
  json["again"] = command_again();
  json["root"] = how_it_ended(watched.root);
  json["runs"] = runs;
  json["perturbed_runs"] = perturbed_runs;
  json["seconds"] = watched.seconds;
  json["stops"] = watched.stops;
  json["perturbed"] = watched.perturbed;
  json["faults"] = Json::array();
  for (std::size_t at = 0; at < watched.struck.size(); ++at) {
    json["faults"].push_back({{"fault", warden::to_text(faults[at])},
                              {"struck", bool(watched.struck[at])},
                              {"at", watched.struck_at[at]},
                              {"reason", watched.reasons[at]}});
  }
  json["processes"] = list_of(watched.processes, [](const auto& each) -> Json {
    return {{"role", each.role}, {"title", each.title}, {"words", each.words}};
  });
  if (options.list) {
    json["calls"] = list_of(points.all, [](const auto& each) -> Json {
      return {{"role", each.role}, {"call", each.call}, {"object", each.object}, {"k", each.k}};
    });
    json["difference"] = points.difference;
  }
  json["inherited"] = watched.inherited;
  json["only_processor"] = watched.processor ? Json(*watched.processor) : Json();
  add_findings(json, *this);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lastref::harness
