// RunChoices: answers the questions of a gated run in the controller, if its plan needs more than
// a list of answers.
//
// The holder of the turn lists the actors that can continue, with their next steps, and passes the
// question to the controller. A step without an alternative is no question, but counts for
// policies: it is noted in the ControlBlock, and read before the next question.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "harness/choice/choices.hpp"
#include "harness/kernel/control_block.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

class RunChoices {
 public:
  /// Whether a plan needs it: it has a seed or switches, or wants an estimate.
  static bool are_needed(const Plan& plan) noexcept;

  /// For one run.
  explicit RunChoices(const Plan& plan);

  /// The answer to a question. Without ready actors it is whether a time limit ends early.
  std::uint32_t pick(ControlBlock& control_block,
                     std::span<const ReadyActor> ready,
                     bool is_preemption);
  /// The same for the question in the ControlBlock; then its asker continues.
  void answer(ControlBlock& control_block);

  /// After the run: sets the answers, switches and, if it is wanted, the estimate.
  void describe(ControlBlock& control_block, Outcome& outcome);

 private:
  void take_events(ControlBlock& control_block);
  void count(const ReadyActor& chosen);

  std::unique_ptr<Choices> choices_;
  bool wants_estimate_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> steps_;  ///< By actor and object
};

}  // namespace lastref::harness
