// SimWorld: runs a scenario in a simulated kernel, in this thread, without a system call.
//
// It uses the same scenario code, instruments and questions as the kernel world; its limitations
// are listed in sim_kernel.hpp. A run takes the time of its steps, about 100 ns each.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/choice/choices.hpp"
#include "harness/journal/record.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

struct SimOptions {
  /// A death has two steps, between which other actors may run: see sim::Scheduler. Then lists of
  /// answers do not fit the kernel world.
  bool split_deaths = false;
  /// In exhaustive enumeration, each time limit of a wait may also expire early. In random runs it
  /// may in any case.
  bool tries_early_timeouts = false;
  /// A store to a shared word may be seen late: see sim::LateStores. Then lists of answers do not
  /// fit the kernel world.
  bool late_words = false;
  /// The memory of a run is freed in bulk at its end: see Arena. The bodies must keep nothing on
  /// the heap beyond their run; those of the catalog comply.
  bool arena = false;
  /// The state of each question is known; see sim::HappensBefore.
  bool knows_states = false;
  /// With an arena: what runs have in common is run once; see sim::Prefix.
  bool shares_prefixes = true;
  /// A signal (Stage::tell). Before it is given, all questions get their default answer and nothing
  /// is varied. Empty: varies from the start.
  std::string ask_after = {};
};

namespace sim {
class Prefix;
struct WholeRun;
}  // namespace sim

class SimWorld final : public World {
 public:
  explicit SimWorld(SimOptions options = {});
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;
  ~SimWorld() override;

  const char* name() const noexcept override { return "sim"; }
  Outcome run(const Scenario& scenario, const Plan& plan) override;
  /// The same, with other Choices to ask. The plan's own answers are not used.
  Outcome run(const Scenario& scenario, const Plan& plan, Choices& choices);

  /// The journal of the last run, as text: the same for every run of the same plan.
  const std::string& journal() const noexcept { return journal_; }
  /// Whether `journal` is recorded; it costs more than the run.
  void keep_journal(bool kept) noexcept { keeps_journal_ = kept; }
  std::uint64_t steps() const noexcept { return steps_; }
  /// The number of runs so far that continued from a prefix.
  std::uint64_t continued() const noexcept { return continued_; }

 private:
  struct Memory;
  struct KnownPrefix;
  enum class Sharing : std::uint8_t { none, allowed };

  Outcome run(const Scenario& scenario, const Plan& plan, Choices& choices, Sharing sharing);

  /// A run in the open arena, for its host to be entered.
  sim::WholeRun& start(const Scenario& scenario, const Plan& plan, Choices& choices);
  /// nullptr if there is none.
  const sim::Prefix* prefix_of(const Scenario& scenario, const Plan& plan, KnownPrefix& known);
  Outcome outcome_of_run(sim::WholeRun& whole, const Plan& plan);

  SimOptions options_;
  std::unique_ptr<Memory> memory_;
  std::size_t bytes_of_prefixes_ = 0;
  /// Scenarios, and values of their parameters, that have been run
  std::map<std::string, KnownPrefix> known_;
  bool keeps_journal_ = false;
  std::string journal_;
  std::uint64_t steps_ = 0;
  std::uint64_t continued_ = 0;
};

}  // namespace lastref::harness
