#include "harness/report/json.hpp"

#include <nlohmann/json.hpp>

#include "harness/report/bytes_in_json.hpp"

namespace lastref::harness {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Violation& violation) {
  Json json = {{"scenario", violation.scenario},
               {"claim", violation.claim},
               {"seen", violation.seen},
               {"repeats", violation.repeats},
               {"replay", violation.replay},
               {"switches", violation.switches},
               {"last_crossings", violation.last_crossings}};
  if (!violation.fingerprint.empty()) {
    json["fingerprint"] = violation.fingerprint;
  }
  return json;
}

Json json_of(const Difference& difference) {
  return {
      {"scenario", difference.scenario}, {"replay", difference.replay}, {"seen", difference.seen}};
}

}  // namespace

std::string to_json(const Report& report) {
  Json json;
  json["exit"] = static_cast<int>(report.exit);
  json["verdict"] = report.verdict;
  if (report.fields != nullptr) {
    json.update(*report.fields);
  }
  json["violations"] = Json::array();
  json["violation_groups"] = Json::array();
  std::size_t total = 0;
  for (const ViolationGroup& group : report.groups) {
    for (const Violation& violation : group.first) {
      json["violations"].push_back(json_of(violation));
    }
    json["violation_groups"].push_back(
        {{"scenario", group.scenario}, {"claim", group.claim}, {"count", group.count}});
    total += group.count;
  }
  json["violations_total"] = total;
  json["not_deterministic"] = Json::array();
  for (const Difference& difference : report.differences) {
    json["not_deterministic"].push_back(json_of(difference));
  }
  write_bytes_as_text(json);
  return json.dump(2) + "\n";
}

}  // namespace lastref::harness
