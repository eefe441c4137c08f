// same: a benign fault changes no result.
#include <algorithm>

#include "harness/oracle/benign.hpp"
#include "harness/oracle/oracles.hpp"
#include "harness/oracle/results.hpp"

namespace lastref::harness::oracle {
namespace {

std::string list_of(const std::set<std::string>& values) {
  std::string text;
  for (const std::string& value : values) {
    text += (text.empty() ? "\"" : " or \"") + value + '"';
  }
  return text;
}

/// Whether the plan has somebody else go first than in the usual order.
bool changes_order(const Plan& plan) {
  const bool is_paused = std::ranges::any_of(
      plan.faults, [](const Fault& fault) { return fault.kind == FaultKind::pause; });
  return is_paused || plan.seed || !plan.choices.empty();
}

}  // namespace

Judgement same(const Evidence& evidence) {
  if (evidence.plan.faults.empty()) {
    return waived(Waiver::no_fault);
  }
  if (evidence.possible == nullptr || !is_unnoticed(evidence)) {
    return waived(Waiver::has_fault);
  }
  // Another order is what clean runs have as well, and no sample has all orders that there are.
  if (changes_order(evidence.plan)) {
    return waived(Waiver::has_order);
  }
  Judgement judgement;
  Results results = results_of(evidence);
  for (const auto& [result, values] : evidence.possible->all()) {
    results.try_emplace(result, "nothing");
  }
  for (const auto& [result, value] : results) {
    const std::set<std::string> possible = evidence.possible->of(result);
    ++judgement.look.seen;
    judgement.look.filled += possible.size() == 1 ? 1U : 0U;
    if (!possible.contains(value)) {
      judgement.findings.push_back(
          {.claim = "same: a fault that nobody may notice changes no result",
           .seen = result + " is \"" + value + "\", and in clean runs " + list_of(possible)});
    }
  }
  return judgement;
}

}  // namespace lastref::harness::oracle
