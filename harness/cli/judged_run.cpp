#include "harness/cli/judged_run.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/cli/run_timeline.hpp"
#include "harness/cli/run_words.hpp"
#include "harness/explore/plans.hpp"
#include "harness/oracle/evidence.hpp"
#include "harness/platform/names.hpp"
#include "harness/scenario/pattern.hpp"
#include "harness/warden/supervisor_signals.hpp"
#include "harness/warden/tree_fault.hpp"

namespace lastref::harness {
namespace {

using Json = nlohmann::ordered_json;

constexpr int by_signal = 128;  // What shells add to the number of a signal

/// The word before a finding of an oracle.
std::string_view label_of(std::string_view oracle, bool is_too_long) {
  constexpr std::pair<std::string_view, std::string_view> labels[] = {
      {"no-crash", "CRASHED"},
      {"no-fd-or-map-leak", "GROWS"},
      {"no-leak", "LEFT BEHIND"},
      {"no-stray-process", "STAYED"},
      {"private", "OPEN TO OTHERS"},
      {"refuted", "FAILS"},
  };
  const auto* const found =
      std::ranges::find(labels, oracle, &std::pair<std::string_view, std::string_view>::first);
  return found != std::end(labels) ? found->second : is_too_long ? "TIME LIMIT" : "DEADLOCK";
}

}  // namespace

std::string how_it_ended(const os::ChildExit& end) {
  return end.killed ? "SIG" + name_of_signal(end.code) : fmt::format("exit {}", end.code);
}

std::string lines_of(std::string_view word, const std::vector<warden::Hung>& all) {
  std::string text;
  for (const warden::Hung& each : all) {
    text += fmt::format("{:<14} {}\n", word, warden::to_text(each));
  }
  return text;
}

bool JudgedRun::all_struck() const {
  return std::ranges::find(watched.struck, false) == watched.struck.end();
}

bool JudgedRun::has_seen_all() const {
  return watched.unread == 0 && watched.blind.empty() && watched.refused.empty();
}

bool JudgedRun::has_struck() const {
  return !world_faults.empty() || std::ranges::find(watched.struck, true) != watched.struck.end();
}

std::vector<std::string> JudgedRun::texts_of_faults() const {
  std::vector<std::string> texts;
  std::ranges::transform(faults, std::back_inserter(texts), [](const warden::TreeFault& each) {
    return warden::to_text(each);
  });
  texts.insert(texts.end(), world_faults.begin(), world_faults.end());
  return texts;
}

bool JudgedRun::ends_as_expected() const {
  if (options.expected_exits.empty()) {
    const bool by_our_signal =
        watched.told_to_end && watched.root.killed && name_of_signal(watched.root.code) == "TERM";
    return watched.root == os::ChildExit{} || by_our_signal;
  }
  return std::ranges::find(options.expected_exits, exit_code()) != options.expected_exits.end();
}

int JudgedRun::exit_code() const {
  return watched.root.code + (watched.root.killed ? by_signal : 0);
}

bool JudgedRun::ends_as_signaled() const {
  for (std::size_t at = 0; at < watched.struck.size(); ++at) {
    const FaultKind kind = faults[at].action.kind;
    if (watched.struck[at] && row_of(kind).effect == FaultEffect::send &&
        exit_code() == by_signal + warden::signal_of(kind)) {
      return true;
    }
  }
  return false;
}

bool JudgedRun::fails_by_itself() const {
  return !has_struck() && !ends_as_expected() && !watched.root_was_killed && !watched.interrupted;
}

bool JudgedRun::ends_unexpectedly() const {
  return has_struck() && !options.expected_exits.empty() && !ends_as_expected() &&
         !watched.root_was_killed && !ends_as_signaled();
}

std::string JudgedRun::findings() const {
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
  add(other_products.size(), "not as in a clean run");
  if (ends_unexpectedly()) {
    text += fmt::format(
        "{}{}, which was not expected", text.empty() ? "" : ", ", how_it_ended(watched.root));
  }
  if (watched.is_too_long || (!watched.hung.empty() && !watched.interrupted)) {
    text += fmt::format(
        "{}{}", text.empty() ? "" : ", ", watched.is_too_long ? "it takes too long" : "it hangs");
  }
  return text;
}

Exit JudgedRun::exit() const {
  if (watched.interrupted || watched.perturbed > 0) {
    return Exit::incomplete;
  }
  if (!findings().empty()) {
    return Exit::violation;
  }
  if (fails_by_itself()) {
    return Exit::unusable;
  }
  const bool is_complete = all_struck() && (has_seen_all() || !options.strict);
  return is_complete ? Exit::clean : Exit::incomplete;
}

std::string JudgedRun::verdict() const {
  if (watched.interrupted) {
    return "interrupted";
  }
  if (watched.perturbed > 0) {
    const std::string why = why_one_try.empty()
                                ? "with --setup, or --private for what it leaves, there are more"
                                : why_one_try;
    return fmt::format(
        "no verdict: a signal interrupted a call while lastref held it, in {}",
        tries == 1 ? "the only try; " + why : fmt::format("each of {} tries", tries));
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
  if (!all_struck()) {
    return "incomplete: a fault was not injected";
  }
  const std::string unseen = has_seen_all() ? "" : ", but not all was seen";
  if (has_struck()) {
    return fmt::format(
        "nothing found{}; the program ended with {}", unseen, how_it_ended(watched.root));
  }
  return unseen.empty() ? "clean" : "nothing found" + unseen;
}

std::string JudgedRun::program() const {
  std::string text;
  for (const std::string& word : options.command) {
    text += (text.empty() ? "" : " ") + harness::quoted(word);
  }
  return text;
}

std::string JudgedRun::command_again() const {
  return command_of(options, texts_of_faults());
}

std::string JudgedRun::list_text() const {
  std::string text;
  constexpr std::size_t words_max = 100;  // Bytes of a line
  for (const auto& each : watched.processes) {
    text += fmt::format("process {:<16} {:<16} {}{}\n",
                        each.role,
                        each.title,
                        each.words.substr(0, words_max),
                        each.words.size() > words_max ? "..." : "");
  }
  for (const warden::Point& each : points.all) {
    text += fmt::format(
        "call    {}{}\n", each.to_text(), each.site.shown.empty() ? "" : "  at " + each.site.shown);
  }
  if (!points.difference.empty()) {
    text += fmt::format("differs {}\n", points.difference);
  }
  for (const std::string& each : watched.inherited) {
    text += fmt::format("inherited descriptor {}\n", each);
  }
  return text;
}

std::string JudgedRun::faults_text() const {
  std::string text;
  for (std::size_t at = 0; at < watched.struck.size(); ++at) {
    const std::string what = warden::to_text(faults[at]);
    text += watched.struck[at]
                ? fmt::format("INJECTED       {}, at {}\n", what, watched.struck_at[at])
                : fmt::format("NOT INJECTED   {}: {}\n", what, watched.reasons[at]);
  }
  for (const std::string& each : world_faults) {
    text += fmt::format("INJECTED       {}, during the whole run\n", each);
  }
  return text;
}

warden::ProgramEvidence JudgedRun::evidence() const {
  warden::ProgramEvidence evidence;
  evidence.add_left(left);
  evidence.add_exposed(open);
  const std::string since = fmt::format(
      "{} s after {}",
      options.grace,
      watched.interrupted || watched.told_to_end ? "it was asked to end" : "the root had ended");
  std::ranges::for_each(watched.stayed, [&](const auto& each) { evidence.add(each, since); });
  if (!watched.interrupted) {
    std::ranges::for_each(watched.hung, [&](const auto& each) { evidence.add(each); });
  }
  if (watched.is_too_long && watched.hung.empty()) {
    evidence.add({.role = "the program", .waiting = {.call = "none", .object = {}, .inside = {}}});
  }
  std::ranges::for_each(watched.growing, [&](const auto& each) { evidence.add(each); });
  std::ranges::for_each(watched.crashes, [&](const auto& each) { evidence.add(each); });
  for (const warden::CommandFailure& each : failures) {
    evidence.add_refuted(
        "refuted: your commands succeed",
        fmt::format(
            "{} {}: {}\n{}", each.option, harness::quoted(each.command), each.how, each.output));
  }
  for (const std::string& each : other_products) {
    evidence.add_refuted(std::string(claim_of_product), each);
  }
  if (ends_unexpectedly()) {
    evidence.add_refuted("refuted: the program ends as --expect-exit says",
                         "the program ended with " + how_it_ended(watched.root));
  }
  return evidence;
}

void JudgedRun::add_findings(Report& report) const {
  const warden::ProgramEvidence observed = evidence();
  for (const std::string_view oracle : names_of_general_oracles()) {
    for (Finding& finding : judge_by(oracle, observed.evidence()).findings) {
      add(report,
          {.scenario = program(),
           .claim = std::move(finding.claim),
           .seen = std::move(finding.seen),
           .repeats = true,
           .replay = report.repeat,
           .last_crossings = {}},
          label_of(oracle, watched.is_too_long));
    }
  }
}

std::string JudgedRun::unseen_text() const {
  std::string text = watched.interrupted ? lines_of("WAITED", watched.hung) : "";
  if (!at_hang.empty()) {
    text += fmt::format("AT THE HANG    {}\n{}", options.on_hang, at_hang);
  }
  if (!watched.stayed.empty() && !left.empty()) {
    text +=
        "NOTE           a process that was killed may have removed names later: --grace gives more "
        "time\n";
  } else if (!watched.hung.empty() && !watched.interrupted && !left.empty()) {
    text += "NOTE           lastref has ended the program, which may have removed names later\n";
  } else if (!has_struck() && !left.empty()) {
    text += fmt::format(
        "NOTE           names that are meant to remain: --allow {}; a sweep allows what a clean "
        "run "
        "leaves\n",
        harness::quoted(pattern_of(left.front().path)));
  }
  for (const auto& each : hidden) {
    text += fmt::format("HIDDEN         {} names in {}, which the program could not see\n",
                        each.count,
                        each.folder);
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
    text +=
        fmt::format("NOT SEEN       {} names in calls, which could not be read\n", watched.unread);
  }
  if (watched.processor) {
    text += fmt::format(
        "ONE PROCESSOR  number {}, for the program and the supervisor: this kernel cannot wake one "
        "by "
        "the other on several (Linux 6.6 can)\n",
        *watched.processor);
  }
  return text;
}

std::string JudgedRun::counts_text() const {
  const std::string interrupted =
      watched.perturbed > 0 ? fmt::format(", {} interrupted by lastref", watched.perturbed) : "";
  std::string text = fmt::format("{}, {} examined{}; root: {}\n",
                                 counted(watched.processes.size(), "process", "es"),
                                 counted(watched.stops, "call"),
                                 interrupted,
                                 how_it_ended(watched.root));
  if (runs > 1 || perturbed_runs > 0) {
    text += counted(runs, "run");
    text += perturbed_runs > 0
                ? fmt::format("; {} more, in which lastref interrupted a call, repeated\n",
                              perturbed_runs)
                : "\n";
  }
  return text;
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

void list_findings(Json& json, const JudgedRun& run) {
  const warden::Watched& watched = run.watched;
  const auto name = [](const warden::Leftover& each) -> Json {
    return {{"path", each.path}, {"kind", each.kind}, {"maker", each.maker}};
  };
  json["left_behind"] = list_of(run.left, name);
  json["open_to_others"] = list_of(run.open, name);
  json["stayed"] = list_of(watched.stayed, [](const auto& each) -> Json {
    return {{"role", each.process.role},
            {"title", each.process.title},
            {"zombie", each.is_zombie},
            {"locks", each.locks}};
  });
  json["hangs"] = list_of(watched.hung, [](const auto& each) -> Json {
    return {{"role", each.role},
            {"thread", each.waiting.thread},
            {"call", each.waiting.call},
            {"object", each.waiting.object},
            {"inside", each.waiting.inside},
            {"held_by", each.holders}};
  });
  json["grows"] = list_of(watched.growing, [](const auto& each) -> Json {
    return {{"role", each.role},
            {"what", each.what},
            {"from", each.from},
            {"to", each.to},
            {"each_round", each.each_round},
            {"most", each.most}};
  });
  json["crashes"] = list_of(watched.crashes, [](const auto& each) -> Json {
    return {{"role", each.role}, {"signal", name_of_signal(each.signal)}};
  });
  json["at_hang"] = run.at_hang;
  json["failures"] = list_of(run.failures, [](const auto& each) -> Json {
    return {{"option", each.option},
            {"command", each.command},
            {"how", each.how},
            {"output", each.output}};
  });
  json["products"] = list_of(run.products, [](const auto& each) -> Json {
    return {{"path", each.path}, {"content", each.expected}};
  });
  json["hidden"] = list_of(run.hidden, [](const auto& each) -> Json {
    return {{"folder", each.folder}, {"names", each.count}};
  });
  json["not_lasting"] = list_of(run.not_lasting.first, [](const auto& each) -> Json {
    return {{"path", each.path}, {"what", each.what}};
  });
  json["not_lasting_more"] = run.not_lasting.more;
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

Json fields_of(const JudgedRun& run, const std::string& again) {
  const warden::Watched& watched = run.watched;
  Json json;
  json["command"] = run.options.command;
  json["again"] = again;
  json["root"] = how_it_ended(watched.root);
  json["runs"] = run.runs;
  json["perturbed_runs"] = run.perturbed_runs;
  json["seconds"] = watched.seconds;
  json["stops"] = watched.stops;
  json["peak_memory"] = watched.peak_memory;
  json["perturbed"] = watched.perturbed;
  json["faults"] = Json::array();
  for (std::size_t at = 0; at < watched.struck.size(); ++at) {
    json["faults"].push_back({{"fault", warden::to_text(run.faults[at])},
                              {"struck", bool(watched.struck[at])},
                              {"at", watched.struck_at[at]},
                              {"reason", watched.reasons[at]}});
  }
  for (const std::string& each : run.world_faults) {
    json["faults"].push_back(
        {{"fault", each}, {"struck", true}, {"at", "the whole run"}, {"reason", ""}});
  }
  json["processes"] = list_of(watched.processes, [](const auto& each) -> Json {
    return {{"role", each.role}, {"title", each.title}, {"words", each.words}};
  });
  if (run.options.list) {
    json["calls"] = list_of(run.points.all, [](const auto& each) -> Json {
      Json point = {
          {"role", each.role}, {"call", each.call}, {"object", each.object}, {"k", each.k}};
      point["errors"] =
          list_of(each.errors, [](int error) -> Json { return name_of_error(error); });
      point["at"] = each.site.shown;
      point["site"] = each.site.frames;
      return point;
    });
    json["difference"] = run.points.difference;
  }
  json["inherited"] = watched.inherited;
  if (wants_timeline(run.options)) {
    json["timeline"] = timeline_of(run);
  }
  json["only_processor"] = watched.processor ? Json(*watched.processor) : Json();
  list_findings(json, run);
  return json;
}

}  // namespace

Report JudgedRun::report() const {
  Report report{.verb = "run",
                .exit = exit(),
                .verdict = verdict(),
                .before = (options.list ? list_text() : "") + faults_text(),
                .after = unseen_text() + counts_text(),
                .repeat = command_again(),
                .seconds = watched.seconds};
  add_findings(report);
  report.fields = std::make_shared<const Json>(fields_of(*this, report.repeat));
  report.cases = {{.suite = "run",
                   .name = program(),
                   .scenario = program(),
                   .output = report.before + report.after,
                   .error = report.exit == Exit::unusable || report.exit == Exit::incomplete
                                ? report.verdict
                                : "",
                   .seconds = watched.seconds}};
  return report;
}

}  // namespace lastref::harness
