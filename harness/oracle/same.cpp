// same: a benign fault changes no result.
#include <algorithm>

#include "harness/oracle/benign.hpp"
#include "harness/oracle/registered_oracle.hpp"
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

/// Benign errors, short counts and ignored signals change no result: every answer, and every
/// leftover file, also occurs in a clean run in some order. A pause is not judged: it is another
/// order, and no sample of clean runs has all orders. This function decides only whether the run is
/// judged: the results of clean runs are not in its evidence, so ComparedWorld calls `compare`.
Judgement same(const Evidence& evidence) {
  if (evidence.plan.faults.empty()) {
    return waived(Waiver::no_fault);
  }
  const bool all_are_benign = std::ranges::all_of(evidence.plan.faults, is_benign);
  if (!all_are_benign || !is_unnoticed(evidence)) {
    return waived(Waiver::has_fault);
  }
  if (!evidence.plan.ambient.empty()) {
    return waived(Waiver::ambient);
  }
  // Clean runs have other orders as well, and no sample has all of them.
  if (changes_order(evidence.plan)) {
    return waived(Waiver::has_order);
  }
  return {};
}

const RegisteredOracle registered_same("same", Concern::results, same);

}  // namespace

Judgement compare(const RunResults& results, const PossibleResults& possible) {
  Judgement judgement;
  RunResults all = results;
  for (const auto& [result, values] : possible.all()) {
    all.try_emplace(result, "nothing");
  }
  for (const auto& [result, value] : all) {
    const std::set<std::string> values = possible.of(result);
    ++judgement.look.seen;
    judgement.look.filled += values.size() == 1 ? 1U : 0U;
    if (!values.contains(value)) {
      judgement.findings.push_back(
          {.claim = "same: a fault without a visible effect changes no result",
           .seen = result + " is \"" + value + "\", and in clean runs " + list_of(values)});
    }
  }
  return judgement;
}

}  // namespace lastref::harness::oracle
