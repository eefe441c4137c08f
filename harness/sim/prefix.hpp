// Prefix: the beginning that the runs of a scenario have in common, run once and copied.
//
// Runs with the same parameters are the same until one of them gets an unusual answer, or a fault
// is injected. A Prefix is made from a run without either. It has copies of that run at some
// moments, the checkpoints: of its arena and of the stacks of its fibers, at fixed addresses.
// Another run continues from the last checkpoint before it differs. Its journal and its answers are
// the same as of a run from the start.
//
// Limits: a run must have its whole state in the arena, on its fibers, in its journal, and in its
// choices and plan, which are exchanged. Exceptions are elsewhere: there is no checkpoint after one
// was thrown. Not in sanitizer builds, which have no arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/choice/choices.hpp"
#include "harness/program/arena.hpp"
#include "harness/scenario/world.hpp"
#include "harness/sim/fiber.hpp"
#include "harness/sim/scheduler.hpp"
#include "harness/sim/sim_run.hpp"

namespace lastref::harness::sim {

/// A run and what it leaves, as the oracles get it.
struct WholeRun {
  WholeRun(const Scenario& scenario, const Plan& plan, Choices& choices, RunJournal& journal)
      : run(scenario, plan, choices, journal) {}

  SimRun run;
  std::vector<std::string> left;
  std::vector<std::string> left_after_sweep;
  std::string standard_error;
  std::uint64_t steps = 0;
  /// The fiber that the whole run is on, if it can be copied.
  std::unique_ptr<Fiber> host;
  bool is_over = false;
};

/// Answers all questions 0, and keeps them.
class RecordedQuestions final : public Choices {
 public:
  std::size_t size() const noexcept { return questions_.size(); }
  /// Views of it are valid while nothing is added.
  Question question(std::size_t index) const noexcept;
  /// The number of questions before the first one with several options.
  std::size_t until_first_choice() const noexcept;

 private:
  struct Recorded {
    std::uint32_t options = 1;
    Cost cost = Cost::free;
    std::uint32_t ready_at = 0;
    std::uint32_t ready = 0;
  };

  std::uint32_t answer(const Question& question) noexcept override;
  void only_one(const Question& question) noexcept override { record(question); }
  void begun() noexcept override;
  void record(const Question& question);

  std::vector<Recorded> questions_;
  std::vector<ReadyActor> ready_;
};

class Prefix final : public Checkpoints {
 public:
  /// Starts a run with this plan and these choices in the open arena.
  using Start = std::function<WholeRun&(const Plan& plan, Choices& choices)>;

  /// Makes two runs with the parameters of the plan, in arenas of this memory and on these stacks.
  Prefix(const Plan& plan, ArenaMemory& memory, Stacks& stacks, const Start& start);

  /// The run at the last checkpoint at which it does not differ from that of the plan, in the open
  /// arena, for `host` to be entered. nullptr if it differs before the first one; then the choices
  /// have to begin again.
  WholeRun* resume(const Plan& plan, Choices& choices, Stacks& stacks, RunJournal& journal) const;

  /// bytes of memory
  std::size_t size() const noexcept;

 private:
  struct Checkpoint {
    std::size_t questions = 0;  ///< that were asked before
    std::size_t records = 0;
    std::map<std::string, std::uint32_t> allocations = {};  ///< so far, by role
    ArenaImage arena;
    StacksImage stacks;
  };

  void reach() noexcept override;
  void copy(const Stacks& stacks);
  /// Whether no fault of the plan can have been injected before.
  bool precedes_faults(const Checkpoint& checkpoint, const Plan& plan) const;
  static std::uint64_t hash_of_site(std::string_view role,
                                    std::string_view name,
                                    std::string_view object,
                                    std::uint32_t k) noexcept;

  Plan plan_;
  RecordedQuestions questions_;
  std::vector<std::size_t> due_;  ///< Numbers of questions; ascending
  WholeRun* run_ = nullptr;
  std::uint64_t thrown_before_ = 0;  ///< Exceptions
  std::vector<Record> records_;
  std::unordered_map<std::uint64_t, std::size_t> begins_;  ///< By site: the record of its crossing
  std::vector<std::unique_ptr<const Checkpoint>> checkpoints_;
};

}  // namespace lastref::harness::sim
