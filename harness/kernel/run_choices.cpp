#include "harness/kernel/run_choices.hpp"

#include "harness/scenario/plan_choices.hpp"

namespace lastref::harness {

bool RunChoices::are_needed(const Plan& plan) noexcept {
  return plan.seed.has_value() || !plan.switches.empty() || plan.wants_estimate;
}

RunChoices::RunChoices(const Plan& plan)
    : choices_(choices_of(plan)), wants_estimate_(plan.wants_estimate) {
  choices_->begin();
}

std::uint32_t RunChoices::pick(ControlBlock& control_block,
                               std::span<const ReadyActor> ready,
                               bool is_preemption) {
  take_events(control_block);
  constexpr std::uint32_t yes_or_no = 2;
  const std::uint32_t answer = choices_->pick(
      {.options = ready.empty() ? yes_or_no : static_cast<std::uint32_t>(ready.size()),
       .cost = is_preemption ? Cost::preemption : Cost::free,
       .ready = ready});
  if (!ready.empty()) {
    count(ready[answer]);
  }
  return answer;
}

void RunChoices::answer(ControlBlock& control_block) {
  PendingQuestion& question = control_block.question;
  question.answer = pick(
      control_block, std::span(question.ready).first(question.ready_count), question.is_preemption);
  return_turn(control_block);
}

void RunChoices::take_events(ControlBlock& control_block) {
  for (const ChoiceEvent& each :
       std::span(control_block.choice_events).first(control_block.choice_events_count)) {
    if (each.is_fault) {
      choices_->fault_struck();
      continue;
    }
    choices_->pick({.options = 1,
                    .cost = each.is_preemption ? Cost::preemption : Cost::free,
                    .ready = std::span(&each.only, 1)});
    count(each.only);
  }
  control_block.choice_events_count = 0;
}

void RunChoices::count(const ReadyActor& chosen) {
  if (wants_estimate_) {
    ++steps_[{chosen.actor, chosen.step.object}];
  }
}

void RunChoices::describe(ControlBlock& control_block, Outcome& outcome) {
  take_events(control_block);
  outcome.choices = choices_->answers();
  outcome.options = choices_->options();
  outcome.switches = choices_->switches();
  if (wants_estimate_) {
    auto estimate = std::make_shared<RunEstimate>();
    for (const auto& [of, steps] : steps_) {
      estimate->push_back({.actor = of.first, .object = of.second, .steps = steps});
    }
    outcome.estimate = std::move(estimate);
  }
}

}  // namespace lastref::harness
