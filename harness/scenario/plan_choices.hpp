// PlanChoices: what answers the questions of a run, as its plan says; the same in every world.
#pragma once

#include <memory>

#include "harness/choice/choices.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// The switches of the plan; or its policy; or its list, and after its end at random or as usual.
std::unique_ptr<Choices> choices_of(const Plan& plan);

}  // namespace lastref::harness
