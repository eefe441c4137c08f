#include "harness/cli/sweep_folder.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/choice/shard.hpp"
#include "harness/cli/result_files.hpp"
#include "harness/platform/folder.hpp"
#include "harness/platform/names.hpp"
#include "harness/report/bytes_in_json.hpp"
#include "harness/report/json_members.hpp"
#include "harness/warden/world_fault.hpp"

namespace lastref::harness {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view title = R"({"lastref sweep":1})";
/// Longer lines are not read.
constexpr std::size_t line_bytes_max = std::size_t{1} << 24U;
constexpr std::size_t log_bytes_max = std::size_t{1} << 20U;

tl::unexpected<Error> wrong(const std::string& what) {
  return failure(std::errc::invalid_argument, what);
}

std::string line_of(Json json) {
  write_bytes_as_text(json);
  return json.dump();
}

std::string text_of_list(const std::vector<SweptProgram*>& programs) {
  std::string text = std::string(title) + '\n';
  for (const SweptProgram* each : programs) {
    text += line_of({{"story", each->name},
                     {"folder", each->folder},
                     {"planned", each->is_planned},
                     {"run", each->run}});
    text += '\n';
    for (const std::string& cell : each->cells) {
      text += line_of(cell) + '\n';
    }
  }
  return text;
}

/// Calls `take` with each line that has an end. It returns what is wrong with the line, or nothing.
Status for_each_line(const std::string& path,
                     std::string_view text,
                     const std::function<std::string(const Json&)>& take) {
  for (std::size_t number = 1; text.find('\n') != std::string_view::npos; ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() + 1);
    std::string why = "it is longer than any line of a sweep";
    if (line.size() <= line_bytes_max) {
      Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
      read_text_as_bytes(json);
      why = json.is_discarded() ? "this is not JSON" : take(json);
    }
    if (!why.empty()) {
      return wrong(fmt::format("{}:{}: {}", path, number, why));
    }
  }
  return ok();
}

/// The place of a line in a list that begins with 1; nothing: it has none.
std::optional<std::size_t> place_in(const Json& line, const char* member, std::size_t size) {
  const Json& number = member_of(line, member);
  const std::uint64_t place = number.is_number_unsigned() ? number.get<std::uint64_t>() : 0;
  return place >= 1 && place <= size ? std::optional<std::size_t>(place - 1) : std::nullopt;
}

Json json_of(const KnownFinding& known) {
  Json json = {
      {"story", known.story}, {"fingerprint", known.fingerprint}, {"reason", known.reason}};
  if (known.until) {
    json["until"] = {static_cast<int>(known.until->year()),
                     static_cast<unsigned>(known.until->month()),
                     static_cast<unsigned>(known.until->day())};
  }
  return json;
}

std::optional<KnownFinding> known_in(const Json& json) {
  KnownFinding known{.story = text_of(json, "story"),
                     .fingerprint = text_of(json, "fingerprint"),
                     .reason = text_of(json, "reason")};
  const Json& until = list_of(json, "until");
  const bool is_date = until.size() == 3 && std::ranges::all_of(until, [](const Json& each) {
                         return each.is_number_unsigned() && each.get<std::uint64_t>() <= 9999;
                       });
  if (is_date) {
    known.until = std::chrono::year_month_day(std::chrono::year(until[0].get<int>()),
                                              std::chrono::month(until[1].get<unsigned>()),
                                              std::chrono::day(until[2].get<unsigned>()));
  }
  const bool is_whole = !known.story.empty() && !known.fingerprint.empty() &&
                        (until.empty() || (is_date && known.until->ok()));
  return is_whole ? std::optional(std::move(known)) : std::nullopt;
}

Json json_of(std::size_t program, std::size_t cell, const CellOutcome& outcome) {
  Json json = {{"story", program + 1},
               {"cell", cell + 1},
               {"result", name_of(outcome.result)},
               {"seconds", outcome.seconds}};
  for (const ShownFinding& each : outcome.shown) {
    json["shown"].push_back({{"claim", each.claim}, {"seen", each.seen}});
  }
  if (!outcome.command.empty()) {
    json["command"] = outcome.command;
  }
  if (!outcome.at.empty()) {
    json["at"] = outcome.at;
  }
  if (!outcome.why.empty()) {
    json["why"] = outcome.why;
  }
  return json;
}

/// Reads the lines of one folder.
class Reader {
 public:
  std::string take_cell(const Json& line) {
    if (is_first_) {
      is_first_ = false;
      return line_of(line) == title ? "" : fmt::format("this is not {}", title);
    }
    if (line.is_object() && member_of(line, "story").is_string()) {
      SweptProgram program{.name = text_of(line, "story"), .folder = text_of(line, "folder")};
      for (const Json& each : list_of(line, "run")) {
        program.run.push_back(each.is_string() ? each.get<std::string>() : "");
      }
      program.is_planned = member_of(line, "planned") == true;
      sweep_.programs.push_back(std::move(program));
      return {};
    }
    if (!line.is_string() || sweep_.programs.empty() ||
        !warden::is_fault(line.get<std::string>())) {
      return "this is neither a story nor a fault of one";
    }
    sweep_.programs.back().cells.push_back(line.get<std::string>());
    return {};
  }

  std::string take_outcome(const Json& line) {
    if (member_of(line, "shard").is_string()) {
      return take_session(line);
    }
    const auto program = place_in(line, "story", sweep_.programs.size());
    if (program && member_of(line, "cell").is_null()) {
      sweep_.programs[*program].shown_without_faults.push_back(shown_in(line));
      return {};
    }
    const auto cell =
        program ? place_in(line, "cell", sweep_.programs[*program].cells.size()) : std::nullopt;
    if (!cell) {
      return "this is of no cell of the list";
    }
    SweptProgram& of = sweep_.programs[*program];
    return member_of(line, "times").is_null() ? take_result(line, of, *cell)
                                              : take_confirmation(line, of, *cell);
  }

  RecordedSweep& sweep() { return sweep_; }

 private:
  static ShownFinding shown_in(const Json& line) {
    return {.claim = text_of(line, "claim"), .seen = text_of(line, "seen")};
  }

  std::string take_session(const Json& line) {
    SweepSession session{.shard = text_of(line, "shard"), .source = text_of(line, "source")};
    for (const Json& each : list_of(line, "known")) {
      auto known = known_in(each);
      if (!known) {
        return "this is not a known finding";
      }
      session.known.push_back(*std::move(known));
    }
    if (!session.shard.empty() && !parse_shard(session.shard)) {
      return "this is not a shard";
    }
    const Json& lines = list_of(line, "lines");
    for (std::size_t at = 0; at < std::min(lines.size(), sweep_.programs.size()); ++at) {
      sweep_.programs[at].line = lines[at].is_number_unsigned() ? lines[at].get<std::size_t>() : 0;
    }
    sweep_.session = std::move(session);
    return {};
  }

  static std::string take_result(const Json& line, SweptProgram& program, std::size_t cell) {
    constexpr auto names = names_of(CellResult());
    const auto* const result = std::ranges::find(names, text_of(line, "result"));
    if (result == names.end()) {
      return "this is not a result";
    }
    const Json& seconds = member_of(line, "seconds");
    CellOutcome outcome{.result = static_cast<CellResult>(result - names.begin()),
                        .command = text_of(line, "command"),
                        .at = text_of(line, "at"),
                        .why = text_of(line, "why"),
                        .seconds = seconds.is_number() ? seconds.get<double>() : 0};
    for (const Json& each : list_of(line, "shown")) {
      outcome.shown.push_back(shown_in(each));
    }
    const bool is_new = program.outcomes.emplace(cell, std::move(outcome)).second;
    return is_new ? "" : "this cell has an outcome already";
  }

  static std::string take_confirmation(const Json& line, SweptProgram& program, std::size_t cell) {
    const Json& times = member_of(line, "times");
    const Json& runs = member_of(line, "runs");
    if (!times.is_number_unsigned() || !runs.is_number_unsigned()) {
      return "these are not numbers of runs";
    }
    program.confirmations.push_back({.cell = cell,
                                     .shown = shown_in(line),
                                     .runs = runs.get<std::size_t>(),
                                     .times = times.get<std::size_t>()});
    return {};
  }

  RecordedSweep sweep_;
  bool is_first_ = true;
};

/// Returns why no sweep may begin in a folder; empty: one may.
std::string reason_against(const std::string& folder) {
  std::error_code error;
  if (fs::exists(path_in(folder, "list"), error)) {
    return fmt::format("{} has a sweep; --resume {} continues it", folder, folder);
  }
  for (const auto& each : entries_of(folder)) {
    // A sweep that was killed before it had a list leaves these.
    const std::string name = each.path().filename();
    const bool is_ours = name == "list.new" || (name == "outcomes" && fs::is_empty(each, error));
    if (!is_ours) {
      return fmt::format(
          "{} is not empty, and is not the folder of a sweep: it has {}", folder, name);
    }
  }
  return {};
}

/// The beginning and the end of a text that is too long.
std::string bounded(std::string_view text) {
  if (text.size() <= log_bytes_max) {
    return std::string(text);
  }
  constexpr std::size_t half = log_bytes_max / 2;
  return fmt::format("{}\n... {} bytes are left out ...\n{}",
                     text.substr(0, half),
                     text.size() - 2 * half,
                     text.substr(text.size() - half));
}

}  // namespace

Result<RecordedSweep> read_sweep(const std::string& folder) {
  const std::string list = path_in(folder, "list");
  const std::string outcomes = path_in(folder, "outcomes");
  Reader reader;
  LASTREF_TRY(text, read_whole(list));
  LASTREF_CHECK(
      for_each_line(list, text, [&](const Json& line) { return reader.take_cell(line); }));
  if (!text.ends_with('\n')) {
    return wrong(list + ": its last line has no end");
  }
  std::error_code error;
  if (fs::exists(outcomes, error)) {
    LASTREF_TRY(recorded, read_whole(outcomes));
    LASTREF_CHECK(for_each_line(
        outcomes, recorded, [&](const Json& line) { return reader.take_outcome(line); }));
  }
  reader.sweep().list = std::move(text);
  return std::move(reader.sweep());
}

Result<RecordedSweep> sweep_before(const RunVerbOptions& options) {
  return options.costs.empty() ? RecordedSweep() : read_sweep(options.costs);
}

std::vector<double> costs_of(const SweptProgram& program, const RecordedSweep& recorded) {
  std::map<std::string_view, double> known;
  double sum = 0;
  const auto before = std::ranges::find(recorded.programs, program.name, &SweptProgram::name);
  if (before != recorded.programs.end()) {
    for (const auto& [cell, outcome] : before->outcomes) {
      const double seconds = std::max(0.0, outcome.seconds);
      known.emplace(before->cells[cell], seconds);
      sum += seconds;
    }
  }
  const double usual = known.empty() ? 1 : sum / static_cast<double>(known.size());
  std::vector<double> costs;
  std::ranges::transform(program.cells, std::back_inserter(costs), [&](const std::string& cell) {
    const auto found = known.find(cell);
    return found == known.end() ? usual : found->second;
  });
  return costs;
}

std::string difference_of_lists(const std::string& folder,
                                std::string_view list,
                                const std::string& other_folder,
                                std::string_view other_list) {
  // The rest of a line from where the two differ, with a few words before.
  const auto shown = [](std::string_view line, std::string_view than) {
    constexpr std::size_t before = 40;
    constexpr std::size_t shown_max = 200;
    const auto same =
        static_cast<std::size_t>(std::ranges::mismatch(line, than).in1 - line.begin());
    const std::size_t start = same - std::min(same, before);
    return line.empty()
               ? "no more lines"
               : fmt::format("{}{}", start > 0 ? "..." : "", line.substr(start, shown_max));
  };
  for (std::size_t number = 1;; ++number) {
    const std::string_view line = list.substr(0, list.find('\n'));
    const std::string_view other = other_list.substr(0, other_list.find('\n'));
    if (line != other || line.empty()) {
      return fmt::format("{}:{}: it has {}, but {} has {}",
                         path_in(folder, "list"),
                         number,
                         shown(line, other),
                         other_folder,
                         shown(other, line));
    }
    list.remove_prefix(std::min(line.size() + 1, list.size()));
    other_list.remove_prefix(std::min(other.size() + 1, other_list.size()));
  }
}

Result<SweepFolder> SweepFolder::open(const RunVerbOptions& options) {
  const bool goes_on = !options.resume.empty();
  if (!goes_on && options.output.empty()) {
    return SweepFolder();
  }
  std::error_code error;
  SweepFolder folder;
  folder.path_ = fs::absolute(goes_on ? options.resume : options.output, error);
  LASTREF_CHECK(goes_on ? check_folder(folder.path_) : make_folder(folder.path_));
  const bool has_list = fs::exists(path_in(folder.path_, "list"), error);
  if (std::string why = goes_on && has_list ? "" : reason_against(folder.path_); !why.empty()) {
    return wrong(why);
  }
  if (goes_on && has_list) {  // Nothing is changed in a folder that is not ours.
    LASTREF_CHECK(status_of(read_sweep(folder.path_)));
  }
  auto outcomes = AppendedFile::open(path_in(folder.path_, "outcomes"));
  if (failed_with(outcomes, std::errc::device_or_resource_busy)) {
    return failure(outcomes.error().code, folder.path_ + ": another process uses this folder");
  }
  if (!outcomes) {
    return failure(outcomes.error().code, describe(outcomes.error()));
  }
  folder.outcomes_ = *std::move(outcomes);
  // Another sweep may have begun and ended in the meantime.
  if (std::string why = goes_on ? "" : reason_against(folder.path_); !why.empty()) {
    return wrong(why);
  }
  if (Status cut = folder.outcomes_.remove_cut_line(); !cut) {
    return failure(cut.error().code, describe(cut.error()));
  }
  return folder;
}

Status SweepFolder::begin(const std::vector<SweptProgram*>& programs, const SweepSession& session) {
  if (path_.empty()) {
    return ok();
  }
  const std::string path = path_in(path_, "list");
  const std::string list = text_of_list(programs);
  std::error_code error;
  fs::create_directory(path_in(path_, "logs"), error);  // A log that cannot be written is reported.
  if (fs::exists(path, error)) {
    LASTREF_CHECK(go_on(list, programs, session));
  } else {
    LASTREF_CHECK(write_at_once(path, list));
  }
  Json line = {{"shard", session.shard}, {"source", session.source}, {"known", Json::array()}};
  for (const KnownFinding& each : session.known) {
    line["known"].push_back(json_of(each));
  }
  for (const SweptProgram* each : programs) {
    line["lines"].push_back(each->line);
  }
  return append(line_of(line));
}

Status SweepFolder::go_on(const std::string& list,
                          const std::vector<SweptProgram*>& programs,
                          const SweepSession& session) {
  LASTREF_TRY(recorded, read_sweep(path_));
  if (recorded.list != list) {
    return wrong(difference_of_lists(path_, recorded.list, "this sweep", list));
  }
  if (recorded.session.shard != session.shard) {
    return wrong(fmt::format("{}: it is of --shard {}", path_, recorded.session.shard));
  }
  for (std::size_t at = 0; at < programs.size(); ++at) {
    programs[at]->outcomes = std::move(recorded.programs[at].outcomes);
    programs[at]->confirmations = std::move(recorded.programs[at].confirmations);
    programs[at]->shown_without_faults = std::move(recorded.programs[at].shown_without_faults);
  }
  return ok();
}

Status SweepFolder::add(std::size_t program,
                        std::size_t cell,
                        const CellOutcome& outcome,
                        std::string_view said) {
  if (path_.empty()) {
    return ok();
  }
  if (!outcome.shown.empty()) {
    LASTREF_CHECK(
        write_file(fmt::format("{}/logs/{}-{}.log", path_, program + 1, cell + 1), bounded(said)));
  }
  return append(line_of(json_of(program, cell, outcome)));
}

Status SweepFolder::add(std::size_t program, const Confirmation& confirmation) {
  if (path_.empty()) {
    return ok();
  }
  return append(line_of({{"story", program + 1},
                         {"cell", confirmation.cell + 1},
                         {"claim", confirmation.shown.claim},
                         {"seen", confirmation.shown.seen},
                         {"times", confirmation.times},
                         {"runs", confirmation.runs}}));
}

Status SweepFolder::add(std::size_t program, const ShownFinding& shown) {
  return path_.empty()
             ? ok()
             : append(
                   line_of({{"story", program + 1}, {"claim", shown.claim}, {"seen", shown.seen}}));
}

std::string SweepFolder::how_to_continue() const {
  return path_.empty() ? ""
                       : fmt::format("to continue: the same command with --resume {}\n", path_);
}

Status SweepFolder::append(const std::string& line) {
  const Status appended = outcomes_.append(line);
  return appended ? ok() : Status(failure(appended.error().code, describe(appended.error())));
}

}  // namespace lastref::harness
