#include "harness/instrument/plan_interceptor.hpp"

#include <algorithm>
#include <utility>

#include "harness/instrument/callers.hpp"

namespace lastref::harness {
namespace {

bool is_settled(const PendingCall& pending_call) noexcept {
  return pending_call.call == Call::none && pending_call.name == row_of(Step::tracker_settled).name;
}

}  // namespace

bool looks_at_kills(std::span<const Fault> faults) noexcept {
  return !faults.empty() && hash_of(to_text(faults.front())) % 4 != 0;
}

/// Callers are recorded for planning.
void InterceptorState::follow(const Plan& plan) {
  looks = looks_at_kills(plan.faults);
  notes_callers =
      knows_callers() && plan.wants_crossings && plan.faults.empty() && plan.ambient.empty();
  notes_aftermath = knows_callers() && plan.wants_aftermath;
  notes_allocations = plan.wants_allocations && knows_callers();
  counts_allocations = false;
}

bool InterceptorState::has_fired() const noexcept {
  return std::ranges::find(fired, true) != fired.end();
}

void PlanInterceptor::crosses(const PendingCall* /*pending_call*/) noexcept {}

void PlanInterceptor::play(std::span<const Fault> faults, std::string_view role) {
  role_.assign(role);
  change_faults(faults, role);
  allocations_ = 0;
  has_told_failure_ = false;
  chains_.clear();
}

void PlanInterceptor::change_faults(std::span<const Fault> faults, std::string_view role) {
  LASTREF_ASSERT(faults.size() <= faults_max);
  faults_ = faults;
  mine_.clear();
  for (std::size_t index = 0; index < faults.size(); ++index) {
    const Fault& fault = faults[index];
    if (fault.site.role == role || fails_for_ever(fault, role, fault.site.name)) {
      mine_.push_back(index);
    }
  }
  notes_allocations_ = state_.notes_allocations && (!state_.notes_aftermath || state_.has_fired());
  counts_allocations_ =
      notes_allocations_ || state_.counts_allocations || strikes_at(allocation_site);
}

bool PlanInterceptor::is_new_chain(std::uint32_t callers) {
  const auto place = std::ranges::lower_bound(chains_, callers);
  if (place != chains_.end() && *place == callers) {
    return false;
  }
  chains_.insert(place, callers);
  return true;
}

bool PlanInterceptor::allocation_fails(const void* frame) noexcept {
  if (!counts_allocations_ || state_.observing) {
    return false;
  }
  const std::uint32_t callers = callers_of_allocation(frame);
  if (callers == 0) {
    return false;
  }
  const PendingCall allocation{.name = allocation_site, .k = ++allocations_, .asks = false};
  if (notes_allocations_ && has_space_for_crossings() && is_new_chain(callers)) {
    if (Record* made = record(allocation, RecordKind::begin)) {
      made->callers = callers;
      publish(*made);
    }
  }
  const Fault* dies = nullptr;
  const int error = apply_faults(allocation, dies).error;
  if (error != 0 && !std::exchange(has_told_failure_, true)) {
    if (Record* made = record(allocation, RecordKind::end)) {
      made->error = error;
      made->injected = true;
      made->text.assign(function_of_allocation(frame));
      publish(*made);
    }
  }
  return error != 0;
}

bool PlanInterceptor::strikes_at(std::string_view name) const noexcept {
  return std::ranges::any_of(mine_,
                             [&](std::size_t index) { return faults_[index].site.name == name; });
}

bool PlanInterceptor::is_hit(std::size_t index, const PendingCall& pending_call) const noexcept {
  const Fault& fault = faults_[index];
  if (fault.site.name != pending_call.name) {
    return false;
  }
  const bool goes_on = row_of(fault.kind).duration != FaultDuration::once;
  if (goes_on && state_.fired[index]) {
    return true;
  }
  return !state_.fired[index] && role_ == fault.site.role && fault.site.k == pending_call.k &&
         ObjectText(fault.site.object) == ObjectText(pending_call.object).view();
}

void PlanInterceptor::fire(const Fault& fault) noexcept {
  const auto index = static_cast<std::size_t>(&fault - faults_.data());
  if (!std::exchange(state_.fired[index], true)) {
    const FaultEffect effect = row_of(fault.kind).effect;
    state_.is_disturbed |= effect != FaultEffect::pause && effect != FaultEffect::shorten;
    note_fired(fault.kind, index);
  }
}

void PlanInterceptor::plan_kill(const Fault& fault,
                                const PendingCall& pending_call,
                                Injection& injection,
                                const Fault*& dies) noexcept {
  switch (row_of(fault.kind).phase) {
    case FaultPhase::before:
      dies = &fault;
      break;
    case FaultPhase::during_write:
      if (may_be_cut(pending_call.name, pending_call.object, pending_call.value)) {
        injection.shorten = true;
        pending().kill_after = &fault;
      }
      break;
    case FaultPhase::blocked:
      pending().kill_blocked = &fault;
      break;
    case FaultPhase::after:
      pending().kill_after = &fault;
      break;
    case FaultPhase::at_limit:
      LASTREF_ASSERT(false);  // No row has it.
  }
}

Injection PlanInterceptor::apply_faults(const PendingCall& pending_call,
                                        const Fault*& dies) noexcept {
  Injection injection;
  for (const std::size_t index : mine_) {
    if (!is_hit(index, pending_call)) {
      continue;
    }
    const Fault& fault = faults_[index];
    const FaultRow& row = row_of(fault.kind);
    if (row.phase == FaultPhase::before) {
      fire(fault);
    }
    switch (row.effect) {
      case FaultEffect::kill:
        plan_kill(fault, pending_call, injection, dies);
        break;
      case FaultEffect::fail:
        injection.error = fault.error;
        break;
      case FaultEffect::shorten:
        injection.shorten = true;
        break;
      case FaultEffect::expire:
        injection.late = true;
        pending().time_out = &fault;
        break;
      case FaultEffect::interrupt:
        interrupt();
        break;
      case FaultEffect::pause:
        pending().pause = &fault;
        break;
      case FaultEffect::stop:
      case FaultEffect::send:
      case FaultEffect::outsider:
        LASTREF_ASSERT(false);
    }
  }
  return injection;
}

Record* PlanInterceptor::record(const PendingCall& pending_call, RecordKind kind) noexcept {
  Record* made = claim();
  if (made != nullptr) {
    made->value = pending_call.value;
    made->k = pending_call.k;
    made->kind = kind;
    made->call = pending_call.call;
    made->waited = pending_call.waited;
    made->observed = state_.observing;
    made->name.assign(pending_call.name);
    made->object.assign(pending_call.object);
    made->text.assign(pending_call.text);
  }
  return made;
}

Injection PlanInterceptor::before(const PendingCall& pending_call) noexcept {
  crosses(&pending_call);
  Injection injection;
  const Fault* dies = nullptr;
  if (!state_.observing) {
    if (++state_.crossings > state_.crossings_allowed) {
      give_up();
    }
    if (const std::size_t point = point_of(pending_call.call, pending_call.name);
        point < points_max) {
      state_.reached.set(point);
    }
    if (pending_call.asks) {
      let_others_go_first(pending_call);
    }
    if (!mine_.empty()) {
      injection = apply_faults(pending_call, dies);
    }
  }
  if (has_space_for_crossings()) {
    if (Record* begins = record(pending_call, RecordKind::begin)) {
      begins->callers = state_.wants_callers() ? callers_here() : 0;
      publish(*begins);
    }
  }
  if (dies != nullptr) {
    die(dies->whole_tree);
  }
  return injection;
}

void PlanInterceptor::after(const PendingCall& pending_call, const CallResult& how) noexcept {
  if (has_space_for_crossings() || how.injected) {
    if (Record* ends = record(pending_call, RecordKind::end)) {
      ends->error = how.error;
      ends->injected = how.injected;
      publish(*ends);
    }
  }
  crosses(nullptr);
  // A new tracker knows everything that its predecessor knew.
  if (is_settled(pending_call) && state_.wants_look()) {
    look();
  }
  if (mine_.empty()) {
    return;
  }
  PendingFaults& mine = pending();
  mine.kill_blocked = nullptr;
  mine.time_out = nullptr;
  if (const Fault* fault = std::exchange(mine.kill_after, nullptr)) {
    fire(*fault);
    die(fault->whole_tree);
  }
  if (const Fault* fault = std::exchange(mine.pause, nullptr)) {
    fire(*fault);
    pause();
  }
}

void PlanInterceptor::hit(Probe probe) noexcept {
  if (!state_.observing) {
    state_.probes.set(static_cast<std::size_t>(probe));
  }
}

bool PlanInterceptor::is_time_over() noexcept {
  if (state_.observing || !ends_early()) {
    return false;
  }
  if (Record* made = claim()) {
    made->kind = RecordKind::fact;
    made->name.assign(fact::early);
    publish(*made);
  }
  return true;
}

void PlanInterceptor::time_is_over(os::Instant deadline) noexcept {
  if (const Fault* fault = pending().time_out) {
    fire(*fault);
  }
  move_clock(deadline);
}

void PlanInterceptor::begins(std::string_view operation) noexcept {
  if (operation == "leave" && state_.wants_look()) {
    look();
  }
}

void PlanInterceptor::strike_if_blocked() noexcept {
  if (mine_.empty()) {
    return;
  }
  if (const Fault* fault = std::exchange(pending().kill_blocked, nullptr)) {
    fire(*fault);
    die(fault->whole_tree);
  }
}

}  // namespace lastref::harness
