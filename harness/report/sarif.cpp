#include "harness/report/sarif.hpp"

#include <algorithm>
#include <string_view>

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

Json result_of(const ViolationGroup& group, const std::string& source) {
  Json location;
  location["logicalLocations"][0]["fullyQualifiedName"] = group.scenario;
  if (!source.empty()) {
    location["physicalLocation"]["artifactLocation"]["uri"] = source;
    location["physicalLocation"]["region"]["startLine"] = 1;
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
  for (const ViolationGroup& group : report.groups) {
    const std::string id = rule_of(group.claim);
    const auto has_id = [&](const Json& rule) { return rule["id"] == id; };
    if (std::ranges::none_of(rules, has_id)) {
      Json& rule = rules.emplace_back();
      rule["id"] = id;
      rule["shortDescription"]["text"] = group.claim;
    }
    results.push_back(result_of(group, report.source));
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
  for (const ViolationGroup& group : report.groups) {
    text += fmt::format("::error title={}::{}\n",
                        escaped(fmt::format("{}: {}", group.scenario, rule_of(group.claim)), true),
                        escaped(message_of(group), false));
  }
  return text;
}

}  // namespace lastref::harness
