#include "harness/explore/shrink.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace lastref::harness {
namespace {

/// The number of runs in which a schedule is shrunk, and that for a plan with texts.
constexpr int tries_to_shrink = 500;
constexpr int tries_with_texts = 600;
/// The number of runs in which pauses are tried instead of switches, if there are more than wanted.
constexpr int tries_with_pauses = 300;
constexpr std::size_t switches_wanted = 3;
/// If there are more than this, other schedules with few preemptions are tried, so many.
constexpr std::size_t switches_accepted = 5;
constexpr std::uint64_t simpler_schedules = 300;

/// A text that says less may need another schedule: the number of random ones that are tried.
constexpr std::uint64_t other_schedules = 2;

/// Whether it has a finding for each claim of the other.
bool claims_all(const Outcome& outcome, const Outcome& other) {
  return std::ranges::all_of(other.findings, [&](const Finding& finding) {
    return std::ranges::find(outcome.findings, finding.claim, &Finding::claim) !=
           outcome.findings.end();
  });
}

class Shrinking {
 public:
  Shrinking(World& world, const Scenario& scenario, Plan& plan, Outcome& outcome)
      : world_(world),
        scenario_(scenario),
        plan_(plan),
        outcome_(outcome),
        is_random_(plan.seed.has_value()) {}

  std::size_t run() {
    leave_out_parameters();
    const bool has_texts = has_text(scenario_.parameters, plan_.parameters);
    tries_max_ = has_texts ? tries_with_texts : tries_to_shrink;
    tries_ = 0;
    take_switches();
    for (bool is_smaller = true; is_smaller;) {
      const bool has_fewer_faults = is_random_ && leave_out_faults();
      const bool has_less_text = has_texts && leave_out_text();
      leave_out_switches();
      is_smaller = has_fewer_faults || has_less_text;
    }
    take_pauses();
    take_simpler_schedule();
    take_answers();
    return switches_;
  }

 private:
  bool is_over() const noexcept { return tries_ >= tries_max_; }
  /// Whether the plan violates the same claims. Then it replaces the other.
  bool take(Plan tried);
  void leave_out_parameters();
  void take_switches();
  bool leave_out_faults();
  bool leave_out_text();
  bool leave_out_text_of(const DeclaredParameter& parameter);
  bool take_in_another_schedule(const Plan& tried);
  void leave_out_switches();
  void take_pauses();
  void take_simpler_schedule();
  void take_answers();

  World& world_;
  const Scenario& scenario_;
  Plan& plan_;
  Outcome& outcome_;
  bool is_random_;
  std::size_t switches_ = 0;
  int tries_ = 0;
  int tries_max_ = tries_to_shrink;
};

bool Shrinking::take(Plan tried) {
  ++tries_;
  Outcome outcome = world_.run(scenario_, tried);
  const bool is_same = claims_all(outcome, outcome_);
  if (is_same) {
    plan_ = std::move(tried);
    outcome_ = std::move(outcome);
  }
  return is_same;
}

/// All usual values are tried first, then one after the other.
void Shrinking::leave_out_parameters() {
  const auto take_with = [&](ParameterValues parameters) {
    Plan tried = plan_;
    tried.parameters = std::move(parameters);
    return take(std::move(tried));
  };
  const ParameterValues all = plan_.parameters;
  if (all.empty() || take_with({}) || all.size() == 1) {
    return;
  }
  for (const ParameterValue& each : all) {
    ParameterValues others = plan_.parameters;
    std::erase(others, each);
    take_with(std::move(others));
  }
}

/// The switches that the run had, instead of what led to them.
void Shrinking::take_switches() {
  if (!plan_.seed) {
    return;
  }
  Plan tried = plan_;
  tried.seed = std::nullopt;
  tried.choices.clear();
  tried.policy = PolicyName::sticky;
  tried.estimate = nullptr;
  tried.switches = outcome_.switches;
  take(std::move(tried));
}

bool Shrinking::leave_out_faults() {
  bool is_smaller = false;
  for (std::size_t at = plan_.faults.size(); at > 0 && !is_over(); --at) {
    Plan tried = plan_;
    tried.faults.erase(tried.faults.begin() + static_cast<std::ptrdiff_t>(at - 1));
    is_smaller = take(std::move(tried)) || is_smaller;
  }
  return is_smaller;
}

bool Shrinking::leave_out_text() {
  bool is_smaller = false;
  for (const DeclaredParameter& each : scenario_.parameters) {
    while (each.form != nullptr && !is_over() && leave_out_text_of(each)) {
      is_smaller = true;
    }
  }
  return is_smaller;
}

/// The first of the smaller texts with which the run violates the same claims.
bool Shrinking::leave_out_text_of(const DeclaredParameter& parameter) {
  const auto current = std::ranges::find(plan_.parameters, parameter.name, &ParameterValue::name);
  if (current == plan_.parameters.end()) {
    return false;
  }
  const std::ptrdiff_t at = current - plan_.parameters.begin();
  const auto takes = [&](const std::string& text) {
    Plan tried = plan_;
    tried.parameters[static_cast<std::size_t>(at)].value = text;
    return !is_over() && (take(tried) || take_in_another_schedule(tried));
  };
  return std::ranges::any_of(parameter.form->smaller(current->value), takes);
}

bool Shrinking::take_in_another_schedule(const Plan& tried) {
  if (!is_random_) {
    return false;
  }
  Plan other = tried;
  other.switches.clear();
  for (std::uint64_t seed = 1; seed <= other_schedules && !is_over(); ++seed) {
    other.seed = seed;
    if (take(other)) {
      take_switches();
      return true;
    }
  }
  return false;
}

/// First large parts are left out, then small ones, until no single switch can be.
void Shrinking::leave_out_switches() {
  for (std::size_t part = plan_.switches.size(); part > 0 && !is_over();) {
    const std::size_t before = plan_.switches.size();
    for (std::size_t at = 0; at < plan_.switches.size() && !is_over();) {
      Plan shorter = plan_;
      const auto first = shorter.switches.begin() + static_cast<std::ptrdiff_t>(at);
      const auto size = std::min(part, shorter.switches.size() - at);
      shorter.switches.erase(first, first + static_cast<std::ptrdiff_t>(size));
      if (!take(std::move(shorter))) {
        at += part;
      }
    }
    const bool is_again = part == 1 && plan_.switches.size() < before;
    part = is_again ? 1 : part / 2;
  }
}

/// Many switches are often the effect of few pauses.
void Shrinking::take_pauses() {
  if (plan_.switches.size() <= switches_wanted) {
    return;
  }
  tries_max_ = tries_ + tries_with_pauses;
  const Plan before = plan_;
  Outcome before_outcome = outcome_;
  Plan paused = plan_;
  for (Switch& each : paused.switches) {
    each.kind = each.kind == Switch::Kind::actor ? Switch::Kind::pause : each.kind;
  }
  if (take(std::move(paused))) {
    leave_out_switches();
  }
  if (plan_.switches.size() > before.switches.size()) {
    plan_ = before;
    outcome_ = std::move(before_outcome);
  }
}

/// The schedule that was found is often not the only one that shows the violation: another one may
/// need fewer switches.
void Shrinking::take_simpler_schedule() {
  if (plan_.switches.size() <= switches_accepted) {
    return;
  }
  Plan drawn = plan_;
  drawn.switches.clear();
  drawn.wants_estimate = true;
  drawn.estimate = world_.run(scenario_, drawn).estimate;
  drawn.wants_estimate = false;
  for (std::uint64_t seed = 1;
       seed <= simpler_schedules && plan_.switches.size() > switches_accepted;
       ++seed) {
    const Plan before = plan_;
    Outcome before_outcome = outcome_;
    drawn.policy = seed % 2 == 0 ? PolicyName::postpone : PolicyName::delays;
    drawn.seed = seed;
    if (!take(drawn)) {
      continue;
    }
    take_switches();
    tries_max_ = tries_ + tries_with_pauses;
    leave_out_switches();
    if (plan_.seed || plan_.switches.size() >= before.switches.size()) {
      plan_ = before;
      outcome_ = std::move(before_outcome);
    }
  }
}

/// As a list of answers, which each world accepts.
void Shrinking::take_answers() {
  if (plan_.switches.empty()) {
    return;
  }
  Plan listed = plan_;
  listed.choices = outcome_.choices;
  listed.switches.clear();
  switches_ = plan_.switches.size();
  take(std::move(listed));
}

}  // namespace

std::size_t shrink(World& world, const Scenario& scenario, Plan& plan, Outcome& outcome) {
  return Shrinking(world, scenario, plan, outcome).run();
}

}  // namespace lastref::harness
