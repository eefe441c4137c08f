#include "harness/report/sarif.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/platform/names.hpp"

namespace lastref::harness {
namespace {

using Json = nlohmann::ordered_json;

/// "no-leak" of "no-leak: every name created is removed"
std::string rule_of(std::string_view claim) {
  return std::string(claim.substr(0, claim.find(':')));
}

/// What is seen, and the command that repeats it.
std::string message_of(const ViolationGroup& group) {
  std::string text = group.claim;
  for (const Violation& each : group.first) {
    text += "\n" + each.seen;
  }
  if (group.count > group.first.size()) {
    text += fmt::format("\nand {} more", group.count - group.first.size());
  }
  return group.first.empty() ? text : text + "\nrepeat: " + group.first.front().replay;
}

/// The line of the source that describes the scenario; that is the first one, if it is unknown.
std::size_t line_of(const Report& report, const std::string& scenario) {
  const auto found = std::ranges::find(report.cases, scenario, &ReportCase::scenario);
  return found == report.cases.end() ? 1 : std::max<std::size_t>(found->line, 1);
}

/// RFC 3986. A relative path remains relative.
std::string uri_of(std::string_view path) {
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char each : path) {
    const bool is_plain = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
                          (each >= '0' && each <= '9') ||
                          std::string_view("/-._~").find(each) != std::string_view::npos;
    uri +=
        is_plain ? std::string(1, each) : fmt::format("%{:02X}", static_cast<unsigned char>(each));
  }
  return uri;
}

Json result_of(const Report& report, const ViolationGroup& group) {
  Json location;
  location["logicalLocations"][0]["fullyQualifiedName"] = group.scenario;
  if (!report.source.empty()) {
    location["physicalLocation"]["artifactLocation"]["uri"] = uri_of(report.source);
    location["physicalLocation"]["region"]["startLine"] = line_of(report, group.scenario);
  }
  Json result;
  result["ruleId"] = rule_of(group.claim);
  result["level"] = "error";
  result["message"]["text"] = message_of(group);
  result["locations"][0] = std::move(location);
  result["occurrenceCount"] = std::max<std::size_t>(group.count, 1);
  if (!group.fingerprint.empty()) {
    result["partialFingerprints"]["lastref/v1"] = group.fingerprint;
  }
  return result;
}

/// Plans with two different runs, as groups
std::vector<ViolationGroup> groups_of(const Report& report) {
  std::vector<ViolationGroup> groups = report.groups;
  for (const Difference& each : report.differences) {
    const std::string claim = "not-deterministic: the same plan gives the same run";
    groups.push_back({.scenario = each.scenario,
                      .claim = claim,
                      .count = 1,
                      .first = {{.scenario = each.scenario,
                                 .claim = claim,
                                 .seen = each.seen,
                                 .replay = each.replay}}});
  }
  return groups;
}

/// Data of a command: https://docs.github.com/actions, workflow commands
std::string escaped(std::string_view text, bool is_property) {
  std::string safe;
  for (const char each : text) {
    const bool is_special = each == '%' || each == '\r' || each == '\n' ||
                            (is_property && (each == ':' || each == ','));
    safe += is_special ? fmt::format("%{:02X}", static_cast<unsigned char>(each))
                       : std::string(1, each);
  }
  return safe;
}

}  // namespace

std::string to_sarif(const Report& report) {
  Json rules = Json::array();
  Json results = Json::array();
  for (const ViolationGroup& group : groups_of(report)) {
    const std::string id = rule_of(group.claim);
    const auto has_id = [&](const Json& rule) { return rule["id"] == id; };
    if (std::ranges::none_of(rules, has_id)) {
      Json& rule = rules.emplace_back();
      rule["id"] = id;
      rule["shortDescription"]["text"] = group.claim;
    }
    results.push_back(result_of(report, group));
  }
  Json run;
  run["tool"]["driver"]["name"] = "lastref";
  run["tool"]["driver"]["rules"] = std::move(rules);
  Json& invocation = run["invocations"][0];
  invocation["executionSuccessful"] = report.exit != Exit::unusable;
  invocation["exitCode"] = static_cast<int>(report.exit);
  invocation["exitCodeDescription"] = report.verdict;
  run["results"] = std::move(results);
  Json log;
  log["$schema"] =
      "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";
  log["version"] = "2.1.0";
  log["runs"][0] = std::move(run);
  return log.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

std::string to_annotations(const Report& report) {
  std::string text;
  for (const ViolationGroup& group : groups_of(report)) {
    text += fmt::format("::error {}title={}::{}\n",
                        report.source.empty() ? ""
                                              : fmt::format("file={},line={},",
                                                            escaped(report.source, true),
                                                            line_of(report, group.scenario)),
                        escaped(fmt::format("{}: {}", group.scenario, rule_of(group.claim)), true),
                        escaped(message_of(group), false));
  }
  if (text.empty() && report.exit != Exit::clean) {
    text = fmt::format("::warning title=lastref {}::{}\n",
                       escaped(report.verb, true),
                       escaped(report.verdict, false));
  }
  return text;
}

}  // namespace lastref::harness
