#include "harness/mutant/trial.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/platform/proc.hpp"
#include "harness/report/json_members.hpp"
#include "harness/report/report.hpp"

namespace lastref::harness {
namespace {

using Json = nlohmann::json;

constexpr int out_of_time = 124;  // timeout(1)

/// The first element of a list; null if there is none.
const Json& first_of(const Json& list) {
  static const Json null;
  return list.is_array() && !list.empty() ? list.front() : null;
}

/// The last line that is not empty.
std::string last_line_of(std::string_view said) {
  const std::size_t last = said.find_last_not_of("\n ");
  said = said.substr(0, last == std::string_view::npos ? 0 : last + 1);
  const std::size_t before = said.rfind('\n');
  return std::string(before == std::string_view::npos ? said : said.substr(before + 1));
}

Trial without_proof(std::string claim) {
  Trial trial;
  trial.sight = Sight::saw;
  trial.claim = std::move(claim);
  return trial;
}

/// The trial of a gate that found nothing.
Trial looked(Sight sight, std::string_view report) {
  Trial trial;
  if (auto reported = trial_of_gate(report)) {
    trial.runs = reported->runs;
  }
  trial.sight = sight;
  if (sight == Sight::incomplete) {
    trial.seen = text_of(Json::parse(report, nullptr, /*allow_exceptions=*/false), "verdict");
  }
  return trial;
}

}  // namespace

std::optional<Trial> trial_of_gate(std::string_view json) {
  const Json report = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!report.is_object()) {
    return std::nullopt;
  }
  Trial trial;
  trial.sight = Sight::saw;
  if (const Json& runs = member_of(report, "runs"); runs.is_number_unsigned()) {
    trial.runs = runs.get<std::size_t>();
  }
  const Json& violation = first_of(member_of(report, "violations"));
  const Json& difference = first_of(member_of(report, "not_deterministic"));
  const Json& first = violation.is_null() ? difference : violation;
  if (!first.is_null()) {
    trial.scenario = text_of(first, "scenario");
    trial.claim =
        violation.is_null() ? "two runs of one plan are the same" : text_of(first, "claim");
    trial.seen = text_of(first, "seen");
    trial.replay = text_of(first, "replay");
  }
  return trial;
}

std::vector<std::string> failed_tests(std::string_view said) {
  std::vector<std::string> names;
  constexpr std::string_view heading = "The following tests FAILED:\n";
  std::size_t at = said.find(heading);
  at = at == std::string_view::npos ? said.size() : at + heading.size();
  while (at < said.size()) {
    const std::size_t end = std::min(said.find('\n', at), said.size());
    const std::string_view line = said.substr(at, end - at);
    const std::size_t name = line.find(" - ");
    if (name == std::string_view::npos) {
      break;
    }
    const std::string_view rest = line.substr(name + 3);
    names.emplace_back(rest.substr(0, rest.rfind(" (")));
    at = end + 1;
  }
  return names;
}

std::optional<int> percent_built(std::string_view said) {
  const std::size_t newline = said.rfind("\n[");
  std::string_view line = newline == std::string_view::npos ? said : said.substr(newline + 1);
  if (!line.starts_with('[')) {
    return std::nullopt;
  }
  line.remove_prefix(1);
  const auto done = number_in<std::uint32_t>(line);
  line.remove_prefix(std::min(line.find_first_not_of("0123456789"), line.size()));
  const auto all = line.starts_with('/') ? number_in<std::uint32_t>(line.substr(1)) : std::nullopt;
  if (!done || !all || *done > *all || *all == 0) {
    return std::nullopt;
  }
  return static_cast<int>(std::uint64_t{*done} * 100 / *all);
}

Trial judge_gate(const ProgramEnd& end) {
  if (end.code == out_of_time) {
    return without_proof("the gate itself came to no end");
  }
  if (end.code && Exit(*end.code) == Exit::unusable) {
    Trial trial;
    trial.sight = Sight::cannot;
    trial.seen = last_line_of(end.said);
    return trial;
  }
  if (end.code && Exit(*end.code) == Exit::clean) {
    return looked(Sight::nothing, end.report);
  }
  if (end.code && Exit(*end.code) == Exit::incomplete) {
    return looked(Sight::incomplete, end.report);
  }
  if (auto reported = trial_of_gate(end.report)) {
    // The bug was found, but a second run of the same plan did not find it; the report says so.
    const bool once = end.code && Exit(*end.code) == Exit::not_deterministic;
    reported->seen = (once ? "only once: " : "") + reported->seen;
    return *std::move(reported);
  }
  Trial trial = without_proof("the gate itself died");
  trial.seen = last_line_of(end.said);
  return trial;
}

Trial judge_tests(const ProgramEnd& end) {
  if (end.code == out_of_time) {
    return without_proof("the tests came to no end");
  }
  Trial trial;
  const std::vector<std::string> failed = failed_tests(end.said);
  if (!failed.empty()) {
    trial.sight = Sight::saw;
    trial.scenario = failed.front();
    trial.failed_tests = failed.size();
    trial.replay = fmt::format("ctest --preset ci -R '{}'", failed.front());
  } else if (end.code != 0) {
    trial.sight = Sight::cannot;
    trial.seen = last_line_of(end.said);
  }
  return trial;
}

}  // namespace lastref::harness
