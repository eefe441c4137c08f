#include "harness/mutant/results.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/platform/hash.hpp"

namespace lastref::harness {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<std::string_view, Sight>, 4> sights = {{
    {"saw", Sight::saw},
    {"nothing", Sight::nothing},
    {"incomplete", Sight::incomplete},
    {"cannot", Sight::cannot},
}};

std::optional<Sight> sight_named(std::string_view wanted) {
  for (const auto& [name, sight] : sights) {
    if (name == wanted) {
      return sight;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Sight sight) noexcept {
  for (const auto& [name, named] : sights) {
    if (named == sight) {
      return name;
    }
  }
  return {};
}

std::string key_of(std::uint64_t sources, std::string_view patch, std::string_view command) {
  return fmt::format("{:016x}{:016x}{:016x}", sources, hash_of(patch), hash_of(command));
}

std::string line_of(const KeptResult& result) {
  const Trial& trial = result.trial;
  const Json json = {{"key", result.key},
                     {"mutant", result.mutant},
                     {"hunter", result.hunter},
                     {"sight", name_of(trial.sight)},
                     {"scenario", trial.scenario},
                     {"claim", trial.claim},
                     {"seen", trial.seen},
                     {"replay", trial.replay},
                     {"runs", trial.runs},
                     {"failed_tests", trial.failed_tests},
                     {"seconds", trial.seconds}};
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::optional<KeptResult> result_of(std::string_view line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return std::nullopt;
  }
  KeptResult result;
  std::string sight;
  const std::pair<const char*, std::string*> texts[] = {{"key", &result.key},
                                                        {"mutant", &result.mutant},
                                                        {"hunter", &result.hunter},
                                                        {"sight", &sight},
                                                        {"scenario", &result.trial.scenario},
                                                        {"claim", &result.trial.claim},
                                                        {"seen", &result.trial.seen},
                                                        {"replay", &result.trial.replay}};
  for (const auto& [name, text] : texts) {
    const auto member = json.find(name);
    if (member == json.end() || !member->is_string()) {
      return std::nullopt;
    }
    *text = member->get<std::string>();
  }
  const std::pair<const char*, std::size_t*> numbers[] = {
      {"runs", &result.trial.runs}, {"failed_tests", &result.trial.failed_tests}};
  for (const auto& [name, number] : numbers) {
    const auto member = json.find(name);
    if (member == json.end() || !member->is_number_unsigned()) {
      return std::nullopt;
    }
    *number = member->get<std::size_t>();
  }
  const auto seconds = json.find("seconds");
  const auto known = sight_named(sight);
  if (seconds == json.end() || !seconds->is_number() || !known) {
    return std::nullopt;
  }
  result.trial.seconds = seconds->get<double>();
  result.trial.sight = *known;
  return result;
}

Status Results::open(const std::string& path) {
  path_ = path;
  std::ifstream in(path, std::ios::binary);
  std::string line;
  bool is_whole = true;
  while (std::getline(in, line)) {
    is_whole = !in.eof();
    if (auto result = result_of(line); result && is_whole) {
      trials_.insert_or_assign(std::move(result->key), std::move(result->trial));
    }
  }
  out_.open(path, std::ios::binary | std::ios::app);
  if (!is_whole) {
    out_ << '\n';  // A line that was cut ends here.
  }
  return out_ ? ok() : failure(std::errc::io_error, path);
}

const Trial* Results::find(const std::string& key) const {
  const auto found = trials_.find(key);
  return found == trials_.end() ? nullptr : &found->second;
}

Status Results::add(KeptResult result) {
  out_ << line_of(result) << '\n' << std::flush;
  trials_.insert_or_assign(std::move(result.key), std::move(result.trial));
  return out_ ? ok() : failure(std::errc::io_error, path_);
}

}  // namespace lastref::harness
