// Source sets: of all orders of steps, one of each set that differs only in steps that do not
// conflict.
#include "harness/choice/source_set_choices.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "harness/choice/choices.hpp"
#include "harness/choice/footprint.hpp"
#include "harness/sim/happens_before.hpp"

namespace lastref::harness {
namespace {

enum class Kind : std::uint8_t { read, add, write, lock, unlock };

struct ToyStep {
  Kind kind = Kind::read;
  std::uint32_t object = 0;
};

/// The steps of each actor. An actor that cannot take a lock has seen that in a step, and waits.
using Program = std::vector<std::vector<ToyStep>>;

std::string text_of(const Program& program) {
  std::string text;
  for (const std::vector<ToyStep>& steps : program) {
    for (const ToyStep& each : steps) {
      text += "rawlu"[static_cast<std::size_t>(each.kind)] + std::to_string(each.object) + ' ';
    }
    text += "| ";
  }
  return text;
}

/// One run of it. Returns its final state; nothing if it was cut off.
std::optional<std::uint64_t> final_state(const Program& program, Choices& choices) {
  constexpr std::uint32_t objects = 10;
  sim::HappensBefore order;
  std::vector<std::size_t> made(program.size());
  std::vector<std::optional<std::uint32_t>> holders(objects);
  std::vector<bool> waits(program.size());
  const auto can_continue = [&](std::uint32_t actor) {
    return made[actor] < program[actor].size() &&
           (!waits[actor] || !holders[program[actor][made[actor]].object]);
  };
  for (choices.begin();;) {
    std::vector<ReadyActor> ready;
    for (std::uint32_t actor = 0; actor < program.size(); ++actor) {
      if (can_continue(actor)) {
        ready.push_back({.actor = actor});
      }
    }
    if (ready.empty()) {
      return order.state();
    }
    const std::uint32_t answer =
        choices.pick({.options = static_cast<std::uint32_t>(ready.size()), .ready = ready});
    if (choices.is_redundant()) {
      return std::nullopt;
    }
    const std::uint32_t actor = ready[answer].actor;
    const ToyStep& step = program[actor][made[actor]];
    waits[actor] = step.kind == Kind::lock && holders[step.object];
    made[actor] += waits[actor] ? 0U : 1U;
    Access access = Access::write;
    if (waits[actor]) {
      access = Access::read;
    } else if (step.kind == Kind::lock) {
      holders[step.object] = actor;
    } else if (step.kind == Kind::unlock && holders[step.object] == actor) {
      holders[step.object] = std::nullopt;
    } else if (step.kind == Kind::read || step.kind == Kind::add) {
      access = step.kind == Kind::read ? Access::read : Access::add;
    }
    const Footprint footprint{{.object = step.object, .access = access},
                              {.object = objects + actor, .access = Access::write}};
    order.end_step(actor, footprint);
    choices.step_made(footprint);
  }
}

struct Reached {
  std::set<std::uint64_t> states;
  std::size_t whole_runs = 0;
};

template <typename Enumerated>
Reached reached(const Program& program, Enumerated&& choices) {
  Reached all;
  do {
    if (const auto state = final_state(program, choices)) {
      all.states.insert(*state);
      ++all.whole_runs;
    }
  } while (choices.advance());
  return all;
}

Program any_program() {
  const auto step = rc::gen::build<ToyStep>(
      rc::gen::set(&ToyStep::kind,
                   rc::gen::element(
                       Kind::read, Kind::add, Kind::write, Kind::write, Kind::lock, Kind::unlock)),
      rc::gen::set(&ToyStep::object, rc::gen::element<std::uint32_t>(0, 1, 2)));
  Program program;
  for (int actor = 0; actor < 3; ++actor) {
    const auto size = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, 4));
    program.push_back(*rc::gen::container<std::vector<ToyStep>>(size, step));
  }
  return program;
}

RC_GTEST_PROP(SourceSetChoices, reach_each_state_once_that_any_order_reaches, ()) {
  const Program program = any_program();
  RC_LOG() << text_of(program) << '\n';
  const Reached all = reached(program, ExhaustiveChoices());
  const Reached some = reached(program, SourceSetChoices());
  RC_ASSERT(some.states == all.states);
  RC_ASSERT(some.whole_runs == some.states.size());
}

/// Together they are the whole.
RC_GTEST_PROP(SourceSetChoices, reach_all_in_the_shares_of_a_first_answer, ()) {
  const Program program = any_program();
  RC_LOG() << text_of(program) << '\n';
  const Reached all = reached(program, ExhaustiveChoices());
  std::set<std::uint64_t> states;
  for (const std::uint32_t first : {0U, 1U, 2U}) {
    states.merge(reached(program, SourceSetChoices({first})).states);
  }
  RC_ASSERT(states == all.states);
}

}  // namespace
}  // namespace lastref::harness
