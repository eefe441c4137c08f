#include "harness/mutant/verdict.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/mutant/results.hpp"

namespace lastref::harness {
namespace {

using Json = nlohmann::ordered_json;

/// Wide enough for the longest of the words below.
constexpr int column = 11;
constexpr int name_column = 58;

std::size_t count_found(std::span<const Trial> trials) {
  return static_cast<std::size_t>(std::ranges::count_if(trials, &Trial::found));
}

std::string word_of(const Verdict& verdict, Hunter hunter) {
  const auto found = verdict.trials.find(hunter);
  if (found == verdict.trials.end()) {
    return "-";
  }
  const std::vector<Trial>& trials = found->second;
  if (trials.size() > 1) {
    return fmt::format("{} of {}", count_found(trials), trials.size());
  }
  switch (trials.front().sight) {
    case Sight::saw:
      return "SAW IT";
    case Sight::nothing:
      return "nothing";
    case Sight::incomplete:
      return "incomplete";
    case Sight::cannot:
      break;
  }
  return "cannot run";
}

/// The larger of the two in the middle, of an even number.
template <class T>
T median(std::vector<T> numbers) {
  std::ranges::sort(numbers);
  return numbers[numbers.size() / 2];
}

/// After how many runs and seconds the trials that saw it did.
std::string effort_of(Hunter hunter, std::span<const Trial> trials) {
  std::vector<std::size_t> runs;
  std::vector<double> seconds;
  for (const Trial& trial : trials) {
    if (trial.found()) {
      runs.push_back(trial.runs);
      seconds.push_back(trial.seconds);
    }
  }
  return trials.size() == 1 || runs.empty()
             ? ""
             : fmt::format("      {}: median {} runs, {:.1f} s; most {} runs, {:.1f} s\n",
                           name_of(hunter),
                           median(runs),
                           median(seconds),
                           std::ranges::max(runs),
                           std::ranges::max(seconds));
}

std::string proof_of(Hunter hunter, const Trial& trial) {
  const std::string_view name = name_of(hunter);
  switch (trial.sight) {
    case Sight::nothing:
      return {};
    case Sight::incomplete:
    case Sight::cannot:
      return trial.seen.empty() ? "" : fmt::format("      {}: {}\n", name, trial.seen);
    case Sight::saw:
      break;
  }
  std::string text = fmt::format("      {}: {}", name, trial.scenario);
  text += trial.scenario.empty() || trial.claim.empty() ? "" : ": ";
  text += trial.claim + "\n";
  text += trial.seen.empty() ? "" : fmt::format("        seen    {}\n", trial.seen);
  text += trial.replay.empty() ? "" : fmt::format("        repeat  {}\n", trial.replay);
  return text;
}

Json json_of(std::span<const Trial> trials) {
  Json seeds = Json::array();
  for (const Trial& each : trials) {
    seeds.push_back(
        {{"sight", name_of(each.sight)}, {"runs", each.runs}, {"seconds", each.seconds}});
  }
  const Trial& trial = result_of(trials);
  return {{"sight", name_of(trial.sight)},
          {"scenario", trial.scenario},
          {"claim", trial.claim},
          {"seen", trial.seen},
          {"replay", trial.replay},
          {"runs", trial.runs},
          {"failed_tests", trial.failed_tests},
          {"seconds", trial.seconds},
          {"seeds", std::move(seeds)}};
}

Json json_of(const Verdict& verdict) {
  Json trials = Json::object();
  for (const auto& [hunter, each] : verdict.trials) {
    trials[std::string(name_of(hunter))] = json_of(each);
  }
  return {{"name", verdict.mutant.name},
          {"row", verdict.mutant.row},
          {"origin", verdict.mutant.origin},
          {"claim", verdict.mutant.claim},
          {"files", verdict.mutant.files},
          {"builds", verdict.builds},
          {"seen", verdict.is_seen()},
          {"hunters", std::move(trials)},
          {"seconds", verdict.seconds}};
}

Json json_of(const HunterTotal& total) {
  return {{"asked", total.asked},
          {"saw", total.saw},
          {"nothing", total.nothing},
          {"incomplete", total.incomplete},
          {"cannot", total.cannot}};
}

std::size_t count_seen(std::span<const Verdict> verdicts) {
  return static_cast<std::size_t>(std::ranges::count_if(verdicts, &Verdict::is_seen));
}

}  // namespace

bool Verdict::is_seen() const noexcept {
  return std::ranges::any_of(trials, [](const auto& each) { return count_found(each.second) > 0; });
}

const Trial& result_of(std::span<const Trial> trials) noexcept {
  auto result = std::ranges::find_if(trials, &Trial::found);
  if (result == trials.end()) {
    result = std::ranges::find_if(trials,
                                  [](const Trial& trial) { return trial.sight != Sight::nothing; });
  }
  return result == trials.end() ? trials.front() : *result;
}

HunterTotal total_of(Hunter hunter, std::span<const Verdict> verdicts) noexcept {
  HunterTotal total;
  for (const Verdict& verdict : verdicts) {
    const auto trials = verdict.trials.find(hunter);
    if (trials == verdict.trials.end()) {
      continue;
    }
    ++total.asked;
    switch (result_of(trials->second).sight) {
      case Sight::saw:
        ++total.saw;
        break;
      case Sight::nothing:
        ++total.nothing;
        break;
      case Sight::incomplete:
        ++total.incomplete;
        break;
      case Sight::cannot:
        ++total.cannot;
        break;
    }
  }
  return total;
}

std::string heading_of(std::span<const Hunter> hunters) {
  std::string text = fmt::format("{:<4} {:<{}}", "row", "mutant", name_column);
  for (const Hunter hunter : hunters) {
    text += fmt::format(" {:<{}}", name_of(hunter), column);
  }
  return text + " seconds\n";
}

std::string text_of(const Verdict& verdict, std::span<const Hunter> hunters) {
  std::string text =
      fmt::format("{:<4} {:<{}}", verdict.mutant.row, verdict.mutant.name, name_column);
  if (!verdict.builds) {
    return text + " does not build\n";
  }
  for (const Hunter hunter : hunters) {
    text += fmt::format(" {:<{}}", word_of(verdict, hunter), column);
  }
  text += fmt::format(" {:.0f}\n", verdict.seconds);
  for (const auto& [hunter, trials] : verdict.trials) {
    text += effort_of(hunter, trials) + proof_of(hunter, result_of(trials));
  }
  return text;
}

std::string totals_of(std::span<const Verdict> verdicts, std::span<const Hunter> hunters) {
  std::string text;
  for (const Hunter hunter : hunters) {
    const HunterTotal total = total_of(hunter, verdicts);
    text += fmt::format("{:<5} saw {} of {}; {} incomplete, {} could not run\n",
                        name_of(hunter),
                        total.saw,
                        total.asked,
                        total.incomplete,
                        total.cannot);
  }
  return text + fmt::format("{} of {} mutants were seen\n", count_seen(verdicts), verdicts.size());
}

std::string to_json(std::span<const Verdict> verdicts, std::span<const Hunter> hunters) {
  Json mutants = Json::array();
  for (const Verdict& verdict : verdicts) {
    mutants.push_back(json_of(verdict));
  }
  Json totals = Json::object();
  for (const Hunter hunter : hunters) {
    totals[std::string(name_of(hunter))] = json_of(total_of(hunter, verdicts));
  }
  const Json json = {{"seen", count_seen(verdicts)},
                     {"mutants_total", verdicts.size()},
                     {"hunters", std::move(totals)},
                     {"mutants", std::move(mutants)}};
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lastref::harness
