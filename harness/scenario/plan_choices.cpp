#include "harness/scenario/plan_choices.hpp"

namespace lastref::harness {

std::unique_ptr<Choices> choices_of(const Plan& plan) {
  if (!plan.switches.empty()) {
    return std::make_unique<SwitchChoices>(plan.switches);
  }
  if (plan.seed && plan.choices.empty() && plan.policy != PolicyName::sticky) {
    return std::make_unique<PolicyChoices>(
        plan.policy, *plan.seed, plan.estimate == nullptr ? RunEstimate() : *plan.estimate);
  }
  return std::make_unique<ListedChoices>(plan.choices, plan.seed);
}

}  // namespace lastref::harness
