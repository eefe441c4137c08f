// Results: what a run came to, as far as its users can tell: the answer of every word, and the
// files that are left. Told without pids and chance, so that runs in other orders can be compared.
//
// A clean run in another order may have other results: two workers race for a slot, and one of them
// is told that it has a value. So what is possible is learned from clean runs in several orders.
// Where these agree, a run in which nothing struck that anybody may notice has to agree as well.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/oracle/evidence.hpp"

namespace lastref::harness::oracle {

/// "worker_1 put cache 0 17#1" is "true"; "left files/kept" is a hash.
using Results = std::map<std::string, std::string, std::less<>>;

Results results_of(const Evidence& evidence);

}  // namespace lastref::harness::oracle

namespace lastref::harness {

/// Clean runs, each in another order, that say what is possible.
std::vector<Plan> clean_plans_to_compare();

/// More of them, for a scenario in which these were not enough: one thread waits for all others, at
/// each site of the usual order. That is an order like any other.
std::vector<Plan> more_plans_to_compare(const std::vector<Crossing>& clean);
/// Whether a run came to something that no clean run did.
bool is_unlike_clean_runs(const Outcome& outcome);

/// Whether a run of this plan is compared with clean ones: it plans faults, and none that anybody
/// may notice.
bool is_compared_with_clean(const Plan& plan);

class PossibleResults {
 public:
  /// Of one more clean run.
  void add(const oracle::Results& results);
  /// Whether more orders are still to be tried: once.
  bool wants_more() noexcept { return !std::exchange(has_more_, true); }
  /// The values that a result has had; nothing stands for a run that had no such result.
  std::set<std::string> of(std::string_view result) const;
  /// All results that any run had.
  const std::map<std::string, std::map<std::string, std::uint64_t>, std::less<>>& all()
      const noexcept {
    return values_;
  }

 private:
  std::map<std::string, std::map<std::string, std::uint64_t>, std::less<>> values_;  ///< and runs
  std::uint64_t runs_ = 0;
  bool has_more_ = false;
};

}  // namespace lastref::harness
