#include "harness/mutant/trial.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace lastref::harness {
namespace {

using Json = nlohmann::json;

/// A member of an object; null if it is not there, or `object` is none.
const Json& member_of(const Json& object, const char* name) {
  static const Json null;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() ? null : *found;
}

std::string text_of(const Json& object, const char* name) {
  const Json& member = member_of(object, name);
  return member.is_string() ? member.get<std::string>() : std::string();
}

/// The first of a list; null if there is none.
const Json& first_of(const Json& list) {
  static const Json null;
  return list.is_array() && !list.empty() ? list.front() : null;
}

}  // namespace

std::optional<Trial> trial_of_gate(std::string_view json) {
  const Json report = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!report.is_object()) {
    return std::nullopt;
  }
  Trial trial;
  trial.found = true;
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

}  // namespace lastref::harness
