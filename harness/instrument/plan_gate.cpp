#include "harness/instrument/plan_gate.hpp"

#include <algorithm>
#include <utility>

namespace lastref::harness {

bool GateState::has_fired() const noexcept {
  return std::ranges::find(fired, true) != fired.end();
}

void PlanGate::crosses(const Approach* /*approach*/) noexcept {}

void PlanGate::play(std::span<const Fault> faults, std::string_view role) {
  LASTREF_ASSERT(faults.size() <= faults_max);
  faults_ = faults;
  mine_.clear();
  for (std::size_t index = 0; index < faults.size(); ++index) {
    if (faults[index].point.role == role) {
      mine_.push_back(index);
    }
  }
}

bool PlanGate::strikes_at(std::string_view place) const noexcept {
  return std::ranges::any_of(
      mine_, [&](std::size_t index) { return faults_[index].point.place == place; });
}

bool PlanGate::is_hit(std::size_t index, const Approach& approach) const noexcept {
  const Fault& fault = faults_[index];
  if (fault.point.place != approach.place) {
    return false;
  }
  if (fault.kind == FaultKind::fail_always && state_.fired[index]) {
    return true;
  }
  return !state_.fired[index] && fault.point.k == approach.k &&
         ObjectText(fault.point.object) == ObjectText(approach.object).view();
}

void PlanGate::fire(const Fault& fault) noexcept {
  const auto index = static_cast<std::size_t>(&fault - faults_.data());
  if (!std::exchange(state_.fired[index], true)) {
    note_fired(fault.kind, index);
  }
}

Passage PlanGate::apply_faults(const Approach& approach, const Fault*& dies) noexcept {
  Passage passage;
  for (const std::size_t index : mine_) {
    if (!is_hit(index, approach)) {
      continue;
    }
    const Fault& fault = faults_[index];
    switch (fault.kind) {
      case FaultKind::kill_before:
        fire(fault);
        dies = &fault;
        break;
      case FaultKind::kill_after:
        pending().kill_after = &fault;
        break;
      case FaultKind::kill_blocked:
        pending().kill_blocked = &fault;
        break;
      case FaultKind::fail_once:
      case FaultKind::fail_always:
        fire(fault);
        passage.error = fault.error;
        break;
      case FaultKind::shorten:
        fire(fault);
        passage.shorten = true;
        break;
      case FaultKind::interrupt:
        fire(fault);
        interrupt();
        break;
      case FaultKind::pause:
        pending().pause = &fault;
        break;
    }
  }
  return passage;
}

Record* PlanGate::record(const Approach& approach, RecordKind kind) noexcept {
  Record* made = claim();
  if (made != nullptr) {
    made->value = approach.value;
    made->k = approach.k;
    made->kind = kind;
    made->call = approach.call;
    made->waited = approach.waited;
    made->observed = state_.observing;
    made->place.assign(approach.place);
    made->object.assign(approach.object);
    made->text.assign(approach.text);
  }
  return made;
}

Passage PlanGate::before(const Approach& approach) noexcept {
  crosses(&approach);
  Passage passage;
  const Fault* dies = nullptr;
  if (!state_.observing) {
    if (++state_.crossings > state_.crossings_allowed) {
      give_up();
    }
    if (const std::size_t point = point_of(approach.call, approach.place); point < points_max) {
      state_.reached.set(point);
    }
    if (approach.asks) {
      let_others_go_first(approach);
    }
    if (!mine_.empty()) {
      passage = apply_faults(approach, dies);
    }
  }
  if (has_room_for_crossings()) {
    if (Record* begins = record(approach, RecordKind::begin)) {
      publish(*begins);
    }
  }
  if (dies != nullptr) {
    die(dies->whole_tree);
  }
  return passage;
}

void PlanGate::after(const Approach& approach, const Return& how) noexcept {
  if (has_room_for_crossings() || how.injected) {
    if (Record* ends = record(approach, RecordKind::end)) {
      ends->error = how.error;
      ends->injected = how.injected;
      publish(*ends);
    }
  }
  crosses(nullptr);
  if (mine_.empty()) {
    return;
  }
  PendingFaults& mine = pending();
  mine.kill_blocked = nullptr;
  if (const Fault* fault = std::exchange(mine.kill_after, nullptr)) {
    fire(*fault);
    die(fault->whole_tree);
  }
  if (const Fault* fault = std::exchange(mine.pause, nullptr)) {
    fire(*fault);
    pause();
  }
}

void PlanGate::strike_if_blocked() noexcept {
  if (mine_.empty()) {
    return;
  }
  if (const Fault* fault = std::exchange(pending().kill_blocked, nullptr)) {
    fire(*fault);
    die(fault->whole_tree);
  }
}

}  // namespace lastref::harness
