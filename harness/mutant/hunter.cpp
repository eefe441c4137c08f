#include "harness/mutant/hunter.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace lastref::harness {
namespace {

constexpr std::array hunters = {
    HunterRow{Hunter::sim, "sim", "the gate in the simulated kernel"},
    HunterRow{Hunter::hunt, "hunt", "the search for schedules, for a minute or the budget"},
    HunterRow{Hunter::row, "row", "the tests that name its row"},
    HunterRow{Hunter::site, "site", "the gate, with faults at every site of the code"},
    HunterRow{Hunter::tests, "tests", "all other tests"},
    HunterRow{Hunter::full, "full", "the gate, with faults at every crossing"},
};

/// Random runs in the simulated kernel; the gate's own number is meant for the real one.
constexpr int random_runs_in_sim = 1000;
/// Seconds of a hunt, which has no end of its own.
constexpr double hunt_budget = 60;
/// Tests that check the text of the checkout, or measure.
constexpr std::string_view not_about_bugs = "-LE 'lint|package|bench'";

std::string gate(std::string_view which, const HunterOptions& options) {
  const std::string budget = options.budget ? fmt::format(" --budget {}", *options.budget) : "";
  return fmt::format(
      "build/ci/bin/lastref gate{} --first --seed {}{}", which, options.seed, budget);
}

std::string hunt(const HunterOptions& options) {
  std::string policies;
  for (const std::string& policy : options.policies) {
    policies += " --policy " + policy;
  }
  return fmt::format("build/ci/bin/lastref hunt{} --first --seed {} --budget {}",
                     policies,
                     options.seed,
                     options.budget.value_or(hunt_budget));
}

std::string tests(std::string_view which) {
  return fmt::format("ctest --preset ci --stop-on-failure {}", which);
}

}  // namespace

std::span<const HunterRow> all_hunters() noexcept {
  return hunters;
}

std::string_view name_of(Hunter hunter) noexcept {
  return std::ranges::find(hunters, hunter, &HunterRow::hunter)->name;
}

std::optional<Hunter> hunter_named(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(hunters, name, &HunterRow::name);
  return found == hunters.end() ? std::nullopt : std::optional(found->hunter);
}

bool is_gate(Hunter hunter) noexcept {
  return hunter != Hunter::row && hunter != Hunter::tests;
}

std::optional<std::string> command_of(Hunter hunter, const HunterOptions& options) {
  switch (hunter) {
    case Hunter::sim:
      return gate(fmt::format(" --world sim --random {}", random_runs_in_sim), options);
    case Hunter::hunt:
      return hunt(options);
    case Hunter::site:
      return options.has_full ? std::optional(gate("", options)) : std::nullopt;
    case Hunter::full:
      return gate(options.has_full ? " --full" : "", options);
    case Hunter::row:
      return tests(fmt::format("-R '{}'", options.tests));
    case Hunter::tests:
      return tests(fmt::format("-E '{}' {}", options.tests, not_about_bugs));
  }
  return std::nullopt;
}

std::optional<std::string> unplanted_command_of(Hunter hunter, const HunterOptions& options) {
  return hunter == Hunter::tests ? tests(not_about_bugs) : command_of(hunter, options);
}

bool names_full(std::string_view help) noexcept {
  return help.find("--full") != std::string_view::npos;
}

}  // namespace lastref::harness
