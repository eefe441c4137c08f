// Results: the result of a run, and those of clean runs.
//
// A clean run in another order may have other results: two workers race for a slot, and one of them
// is refused because the slot has a value. So clean runs in several orders show which results are
// possible. If all of them agree, a run without visible faults has to agree as well.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/oracle/evidence.hpp"

namespace lastref::harness {

/// Clean runs, each in another order, that show which results are possible.
std::vector<Plan> clean_plans_to_compare();

/// More of them, for a scenario in which these were not enough: one thread waits for all others, at
/// each site of the usual order. That order is as valid as any other.
std::vector<Plan> more_plans_to_compare(const std::vector<Crossing>& clean);

class PossibleResults {
 public:
  /// Adds one more clean run.
  void add(const RunResults& results);
  /// The values that a result has had; "nothing" stands for a run without such a result.
  std::set<std::string> of(std::string_view result) const;
  /// All results that any run had.
  const std::map<std::string, std::map<std::string, std::uint64_t>, std::less<>>& all()
      const noexcept {
    return values_;
  }

 private:
  std::map<std::string, std::map<std::string, std::uint64_t>, std::less<>> values_;  ///< and runs
  std::uint64_t runs_ = 0;
};

namespace oracle {

RunResults results_of(const Evidence& evidence);

/// The judgement of `same` on a run that it judges.
Judgement compare(const RunResults& results, const PossibleResults& possible);

}  // namespace oracle
}  // namespace lastref::harness
