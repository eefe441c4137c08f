// SimWorld: runs a scenario in a simulated kernel, in this thread, without a system call.
//
// Same scenario code, same instruments, same questions as the kernel world; what it cannot show is
// listed in sim_kernel.hpp. A run takes the time of its steps, some 100 ns each.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "harness/choice/choices.hpp"
#include "harness/journal/record.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

struct SimOptions {
  /// A death is two steps, between which others may go: see sim::Scheduler. Then lists of answers
  /// do not fit the kernel world.
  bool split_deaths = false;
  /// Exhaustive enumeration lets each limit that somebody waits for end early as well. By chance
  /// they do in any case.
  bool tries_early_timeouts = false;
  /// A store to a shared word may be seen late: see sim::LateStores. Then lists of answers do not
  /// fit the kernel world.
  bool late_words = false;
  /// Memory of a run goes in bulk at its end: see Arena. The bodies must keep nothing on the
  /// heap beyond their run, as those of the catalog do not.
  bool arena = false;
  /// A signal (Stage::tell). Before anybody has given it, all goes the usual way and nothing is
  /// varied. Empty: from the start.
  std::string ask_after = {};
};

class SimWorld final : public World {
 public:
  explicit SimWorld(SimOptions options = {}) : options_(std::move(options)) {}

  const char* name() const noexcept override { return "sim"; }
  Outcome run(const Scenario& scenario, const Plan& plan) override;
  /// The same, with somebody else to ask. The plan's own answers are not used.
  Outcome run(const Scenario& scenario, const Plan& plan, Choices& choices);

  /// The journal of the last run, as text: the same for every run of the same plan.
  const std::string& journal() const noexcept { return journal_; }
  /// Whether `journal` is wanted; it costs more than the run.
  void keep_journal(bool kept) noexcept { keeps_journal_ = kept; }
  std::uint64_t steps() const noexcept { return steps_; }

 private:
  SimOptions options_;
  std::set<std::string> warm_;  ///< Scenarios that have had a run outside of the arena
  bool keeps_journal_ = false;
  std::string journal_;
  std::uint64_t steps_ = 0;
};

}  // namespace lastref::harness
