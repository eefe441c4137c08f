#include "harness/sim/scheduler.hpp"

#include <algorithm>

#include "harness/instrument/turns.hpp"
#include "harness/program/arena.hpp"

namespace lastref::harness::sim {
namespace {

/// No run of the catalog takes so many without a fault.
constexpr std::uint64_t steps_until_expiry = 8'000;

}  // namespace

Scheduler::Index Scheduler::start(std::shared_ptr<SimProcess> process,
                                  bool is_main,
                                  std::function<int()> body) {
  const auto index = static_cast<Index>(actors_.size());
  Actor& actor = actors_.emplace_back();
  actor.process = std::move(process);
  actor.is_main = is_main;
  actor.fiber = std::make_unique<Fiber>([this, index, body = std::move(body)] {
    const int code = body();
    Actor& self = actors_[index];
    if (self.is_main && !self.process->doomed) {
      self.process->doomed = true;
      self.process->exit = {.code = code & 0xff, .killed = false};
    }
    self.gone = !self.is_main;
  });
  return index;
}

bool Scheduler::can_go_on(const Actor& actor) const {
  if (actor.gone || (only && !only(*actor.process))) {
    return false;
  }
  if (actor.reaps) {
    return true;
  }
  if (actor.process->doomed || actor.process->stopped) {
    return false;
  }
  return actor.ready == nullptr || actor.late || (*actor.ready)();
}

std::optional<Scheduler::Index> Scheduler::next(bool may_stay, Reach reach) {
  finish_killed();
  if (happens_before && !only && !actors_.empty()) {
    const auto accesses = kernel_.accesses.end_step(actors_[current_].process->token);
    happens_before->end_step(current_, accesses);
    const ArenaPause answers_outlive_the_run;
    choices_->step_made(accesses);
  }
  list_ready(may_stay);
  const bool is_alone = !may_stay && options_.size() == 1 && options_.front().actor == current_;
  if (is_alone && steps_ > steps_until_expiry && (expire() || advance_clock())) {
    list_ready(may_stay);
  }
  if (options_.empty()) {
    return std::nullopt;
  }
  if (only) {
    return static_cast<Index>(options_.front().actor);
  }
  if (checkpoints != nullptr) {
    checkpoints->reach();
  }
  const bool preempts = may_stay && options_.front().actor == current_;
  const Question question{.options = static_cast<std::uint32_t>(options_.size()),
                          .cost = preempts ? Cost::preemption : Cost::free,
                          .worthwhile = worthwhile(reach),
                          .ready = options_,
                          .state = happens_before ? happens_before->state() : 0,
                          .is_private = preempts && is_private(reach)};
  const std::uint32_t answer = pick(question);
  if (choices_->is_redundant()) {
    is_cut_off_ = true;
    return std::nullopt;
  }
  const auto next = static_cast<Index>(options_[answer].actor);
  if (answer != 0 && on_switch) {
    on_switch(static_cast<Index>(options_.front().actor), next);
  }
  if (counts_steps) {
    count_step(next);
  }
  return next;
}

std::uint32_t Scheduler::pick(const Question& question) {
  const ArenaPause answers_outlive_the_run;
  return choices_->pick(question);
}

void Scheduler::list_ready(bool may_stay) {
  options_.clear();
  offer_turn(
      current_,
      actors_.size(),
      may_stay,
      [&](std::size_t index) { return can_go_on(actors_[index]); },
      [&](std::size_t index) { return actors_[index].paused; },
      [&](std::size_t index) {
        options_.push_back(
            {.actor = static_cast<std::uint32_t>(index), .step = actors_[index].step});
      });
}

/// Wakes the actors with an expired deadline. Usually the clock advances only when no actor is
/// ready; but one with time limits that are made to end early, or pauses that fail, may poll
/// without end for what the others do. Only in a run that seems not to end: the kernel world has no
/// such rule, and lists of answers have to mean the same there.
bool Scheduler::expire() {
  bool any = false;
  for (Actor& actor : actors_) {
    if (actor.ready != nullptr && actor.deadline && *actor.deadline <= kernel_.clock) {
      any = any || !actor.late;
      actor.late = true;
      kernel_.accesses.touch_all();
    }
  }
  return any;
}

void Scheduler::count_step(Index actor) {
  const NextStep& step = actors_[actor].step;
  ++steps_taken_[{actor, step.object}];
  if (step.object == 0) {
    return;
  }
  const auto [last, is_first] = last_on_.try_emplace(step.object);
  if (!is_first && last->second.actor != actor && conflict(last->second.step, step)) {
    constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;
    conflicts_.insert((step.object * factor + last->second.step.call) * factor + step.call);
  }
  last->second = {.actor = actor, .step = step};
}

RunEstimate Scheduler::steps_taken() const {
  RunEstimate steps;
  steps.reserve(steps_taken_.size());
  for (const auto& [of, count] : steps_taken_) {
    steps.push_back({.actor = of.first, .object = of.second, .steps = count});
  }
  std::ranges::sort(
      steps, {}, [](const ActorSteps& each) { return std::pair(each.actor, each.object); });
  return steps;
}

std::vector<std::uint64_t> Scheduler::conflicts() const {
  std::vector<std::uint64_t> sorted(conflicts_.begin(), conflicts_.end());
  std::ranges::sort(sorted);
  return sorted;
}

std::uint64_t Scheduler::worthwhile(Reach reach) const {
  switch (reach) {
    case Reach::none:
      return 0;
    case Reach::all:
      return ~std::uint64_t{0};
    case Reach::process:
      break;
  }
  std::uint64_t bits = 0;
  for (std::size_t at = 0; at < options_.size() && at < 64; ++at) {
    const bool same = actors_[options_[at].actor].process == actors_[current_].process;
    bits |= std::uint64_t{same} << at;
  }
  return bits;
}

/// Unlike the actors that are ready, those that a process has do not change by what others do.
bool Scheduler::is_private(Reach reach) const {
  const auto is_other = [&](const Actor& each) {
    return &each != &actors_[current_] && !each.gone && each.process == actors_[current_].process;
  };
  return reach == Reach::none ||
         (reach == Reach::process && std::ranges::none_of(actors_, is_other));
}

void Scheduler::ask(Reach reach, NextStep step) noexcept {
  exit_if_killed();
  ++steps_;
  actors_[current_].step = step;
  const bool must = ++on_end_ > on_end_max;
  picked_ = next(!must, reach);
  if (must && picked_ == current_) {
    end_pauses();
    picked_ = next(/*may_stay=*/false, reach);
  }
  if (picked_ == current_ && steps_ <= steps_max) {
    picked_ = std::nullopt;
    on_end_ %= on_end_max + 1;
    return;
  }
  leave();
}

bool Scheduler::wait_until(const std::function<bool()>& ready,
                           std::optional<os::Instant> deadline,
                           const char* what) noexcept {
  Actor& self = actors_[current_];
  self.ready = &ready;
  self.deadline = deadline;
  self.what = what;
  self.step = {};
  leave();
  self.ready = nullptr;
  self.late = false;
  return ready();
}

void Scheduler::pause() noexcept {
  actors_[current_].paused = true;
  leave();
  kernel_.accesses.touch_all();  // It was not ready while others could continue.
  exit_if_killed();
}

/// No other actor can continue, and the running one repeatedly polls for an event that a paused
/// actor may cause.
void Scheduler::end_pauses() noexcept {
  for (Actor& actor : actors_) {
    actor.paused = false;
  }
}

void Scheduler::give_up() noexcept {
  steps_max = 0;
  leave();
  exit_if_killed();
}

void Scheduler::exit_if_killed() noexcept {
  if (actors_[current_].process->doomed) {
    leave();
    LASTREF_ASSERT(false);
  }
}

void Scheduler::leave() noexcept {
  actors_[current_].fiber->leave();
}

// The main actor of a doomed process becomes its reaper, and keeps its place in the order.
void Scheduler::finish_killed() {
  for (std::size_t at = 0; at < actors_.size(); ++at) {
    const auto index = static_cast<Index>(at);
    Actor& actor = actors_[index];
    if (actor.gone || actor.reaps || !actor.process->doomed) {
      continue;
    }
    actor.ready = nullptr;
    actor.paused = false;
    actor.gone = !actor.is_main;
    if (!actor.is_main) {
      continue;
    }
    actor.reaps = true;
    if (actors_[current_].process == actor.process) {
      current_ = index;
    }
    if (!split_deaths) {
      finish_exit(actor);
      finish_exit(actor);
    }
  }
}

void Scheduler::finish_exit(Actor& reaper) {
  SimProcess& process = *reaper.process;
  if (process.exit.killed) {
    kernel_.accesses.touch_all();  // The harness may react to it.
  }
  if (process.state == SimProcess::State::running) {
    if (on_death) {
      on_death(process);
    }
    kernel_.close_all(process);
    return;
  }
  kernel_.become_zombie(process);
  reaper.gone = true;
  looks_ = looks_ || (process.exit.killed && shows_deaths());
}

void Scheduler::enter(Index index) {
  current_ = index;
  on_end_ = 0;
  Actor& actor = actors_[index];
  actor.paused = false;
  if (actor.reaps) {
    finish_exit(actor);
    return;
  }
  kernel_.late.enter(*actor.process);
  is_inside_ = true;
  actor.fiber->enter();
  is_inside_ = false;
  kernel_.late.leave();
}

bool Scheduler::advance_clock() {
  Actor* first = nullptr;
  for (Actor& actor : actors_) {
    const bool waits = !actor.gone && !actor.process->doomed && !actor.process->stopped &&
                       actor.ready != nullptr && actor.deadline && (!only || only(*actor.process));
    if (waits && (first == nullptr || *actor.deadline < *first->deadline)) {
      first = &actor;
    }
  }
  if (first == nullptr) {
    return false;
  }
  kernel_.accesses.touch_all();
  first->late = true;
  kernel_.clock = std::max(kernel_.clock, *first->deadline);
  return true;
}

void Scheduler::look(bool goes_on) noexcept {
  looks_ = true;
  kernel_.accesses.touch_all();
  if (goes_on) {
    picked_ = current_;
  }
  const std::uint32_t on_end = on_end_;
  leave();
  exit_if_killed();
  on_end_ = on_end;  // It is still the same turn.
}

void Scheduler::show_deaths() noexcept {
  if (!split_deaths || shows_deaths()) {
    finish_killed();
  }
  if (looks_) {
    look(/*goes_on=*/true);
  }
}

void Scheduler::run_alone(const std::function<bool(const SimProcess&)>& these) {
  const Index current = current_;
  const std::optional<Index> picked = std::exchange(picked_, std::nullopt);
  const std::uint32_t on_end = on_end_;
  kernel_.accesses.touch_all();
  only = these;
  run();
  only = nullptr;
  current_ = current;
  picked_ = picked;
  on_end_ = on_end;
}

Scheduler::Rest Scheduler::run() {
  bool may_stay = false;
  while (steps_ <= steps_max && !is_cut_off_) {
    finish_killed();
    if (!only && std::exchange(looks_, false)) {
      return Rest::look;
    }
    std::optional<Index> index = std::exchange(picked_, std::nullopt);
    if (!index) {
      ++steps_;
      index = next(may_stay);
    }
    if (index) {
      enter(*index);
      // A reaper continues with its second step unless another actor runs in between.
      may_stay = actors_[current_].reaps || actors_[current_].process->doomed;
    } else if (!is_cut_off_ && (only || !advance_clock())) {
      const bool ended =
          std::all_of(actors_.begin(), actors_.end(), [](const Actor& each) { return each.gone; });
      return ended ? Rest::ended : Rest::stuck;
    }
  }
  return is_cut_off_ ? Rest::cut_off : Rest::endless;
}

std::string Scheduler::waiting() const {
  std::string text;
  for (const Actor& actor : actors_) {
    if (!actor.gone) {
      text += text.empty() ? "" : ", ";
      text += actor.process->role + (actor.ready == nullptr ? " runs" : " in ");
      text += actor.ready == nullptr ? "" : actor.what;
      text += actor.process->stopped ? " (stopped)" : "";
    }
  }
  return text;
}

}  // namespace lastref::harness::sim
