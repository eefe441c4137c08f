#include "harness/choice/source_set_choices.hpp"

#include <algorithm>
#include <utility>

namespace lastref::harness {

void SourceSetChoices::Clock::set(Actor actor, std::size_t frames) {
  frames_.resize(std::max<std::size_t>(frames_.size(), actor + 1));
  frames_[actor] = frames;
}

void SourceSetChoices::Clock::join(const Clock& other) {
  frames_.resize(std::max(frames_.size(), other.frames_.size()));
  for (std::size_t actor = 0; actor < other.frames_.size(); ++actor) {
    frames_[actor] = std::max(frames_[actor], other.frames_[actor]);
  }
}

void SourceSetChoices::begun() noexcept {
  depth_ = 0;
  step_at_.clear();
  running_.clear();
  has_other_ = false;
  clocks_.clear();
  objects_.clear();
  is_redundant_ = false;
}

void SourceSetChoices::step_made(std::span<const ObjectAccess> accesses) noexcept {
  running_.insert(running_.end(), accesses.begin(), accesses.end());
}

std::uint32_t SourceSetChoices::answer(const Question& question) noexcept {
  return question.ready.empty() ? answer_about_others(question) : answer_about_actors(question);
}

void SourceSetChoices::only_one(const Question& question) noexcept {
  if (!question.ready.empty() && !is_held()) {
    answer_about_actors(question);
  }
}

std::uint32_t SourceSetChoices::answer_about_others(const Question& question) {
  if (question.worthwhile == 0) {
    return 0;
  }
  has_other_ = true;
  if (depth_ == frames_.size()) {
    const bool is_fixed = answers().size() < prefix_.size();
    frames_.push_back({.answer = is_fixed ? prefix_[answers().size()] : 0,
                       .options = question.options,
                       .worthwhile = question.worthwhile,
                       .is_fixed = is_fixed});
  }
  const Frame& frame = frames_[depth_++];
  deterministic_ = deterministic_ && frame.options == question.options && !frame.is_about_actors();
  return std::min(frame.answer, question.options - 1);
}

std::uint32_t SourceSetChoices::answer_about_actors(const Question& question) {
  if (question.is_private) {
    return 0;  // The steps before and after it are one.
  }
  end_step();
  note_disabled(question.ready);
  if (depth_ == frames_.size()) {
    Frame frame{.options = question.options};
    std::ranges::transform(question.ready, std::back_inserter(frame.ready), &ReadyActor::actor);
    frame.asleep = still_asleep();
    const auto next =
        std::ranges::find_if(frame.ready, [&](Actor actor) { return !is_asleep(frame, actor); });
    if (next == frame.ready.end()) {
      is_redundant_ = true;
      ++cut_off_;
      return 0;
    }
    frame.answer = static_cast<std::uint32_t>(next - frame.ready.begin());
    if (question.options > 1 && answers().size() < prefix_.size()) {
      frame.answer = std::min(prefix_[answers().size()], question.options - 1);
      frame.is_fixed = true;
    }
    frame.wanted = {frame.actor()};
    frames_.push_back(std::move(frame));
  }
  const Frame& frame = frames_[depth_];
  deterministic_ = deterministic_ && frame.options == question.options && frame.is_about_actors();
  step_at_.push_back(depth_++);
  return std::min(frame.answer, question.options - 1);
}

/// Before the next step: the actors that were asleep before the last one, and still are.
std::vector<SourceSetChoices::Sleeper> SourceSetChoices::still_asleep() const {
  std::vector<Sleeper> asleep;
  if (!step_at_.empty()) {
    const Frame& last = frames_[step_at_.back()];
    std::ranges::copy_if(last.asleep, std::back_inserter(asleep), [&](const Sleeper& each) {
      return each.actor != last.actor() && !conflict(each.step, last.step);
    });
  }
  return asleep;
}

bool SourceSetChoices::is_asleep(const Frame& frame, Actor actor) noexcept {
  return std::ranges::find(frame.asleep, actor, &Sleeper::actor) != frame.asleep.end();
}

void SourceSetChoices::want(Frame& frame, Actor actor) {
  if (!frame.is_fixed && std::ranges::find(frame.wanted, actor) == frame.wanted.end()) {
    frame.wanted.push_back(actor);
  }
}

void SourceSetChoices::end_step() {
  Footprint made = std::exchange(running_, {});
  const bool has_other = std::exchange(has_other_, false);
  if (step_at_.empty()) {
    return;  // It was made before the first question.
  }
  std::ranges::sort(made, {}, &ObjectAccess::object);
  Footprint step;
  for (const ObjectAccess& each : made) {
    if (step.empty() || step.back().object != each.object) {
      step.push_back(each);
    } else if (step.back().access != each.access) {
      step.back().access = Access::write;
    }
  }
  Frame& frame = frames_[step_at_.back()];
  frame.step = std::move(step);
  frame.has_other = has_other;
  const std::vector<std::size_t> races = races_of_last_step();
  if (step_at_.back() >= changed_at_) {
    std::ranges::for_each(races, [this](std::size_t earlier) { reverse(earlier); });
  }
}

std::vector<std::size_t> SourceSetChoices::races_of_last_step() {
  const std::size_t at = step_at_.back();
  Frame& frame = frames_[at];
  std::vector<std::size_t> conflicting;
  for (const ObjectAccess& each : frame.step) {
    Steps& steps = objects_[each.object];
    if (conflict(each.access, steps.access)) {
      steps = {.access = each.access, .before = std::move(steps.last), .last = {}};
    }
    conflicting.insert(conflicting.end(), steps.before.begin(), steps.before.end());
    steps.last.push_back(at);
  }
  // The latest first: a step that precedes another one of them is in no direct conflict.
  std::ranges::sort(conflicting, std::greater());
  const Actor actor = frame.actor();
  if (clocks_.size() <= actor) {
    clocks_.resize(actor + 1);
  }
  Clock before = clocks_[actor];
  std::vector<std::size_t> races;
  for (const std::size_t each : conflicting) {
    const Frame& other = frames_[each];
    if (other.actor() != actor && before.of(other.actor()) <= each) {
      races.push_back(each);
      before.join(other.before);
    }
  }
  before.set(actor, at + 1);
  clocks_[actor] = before;
  frame.before = std::move(before);
  return races;
}

/// The last step is to be made before that earlier one, in another run.
void SourceSetChoices::reverse(std::size_t earlier) {
  Frame& frame = frames_[earlier];
  if (frame.is_fixed) {
    return;
  }
  const std::vector<Actor> initials = initials_after(earlier);
  const auto is_tried = [&](Actor actor) {
    return std::ranges::find(frame.wanted, actor) != frame.wanted.end() || is_asleep(frame, actor);
  };
  if (std::ranges::any_of(initials, is_tried)) {
    return;
  }
  // If none of them could continue there, the earlier step has enabled the last one.
  const auto found = std::ranges::find_if(initials, [&](Actor actor) {
    return std::ranges::find(frame.ready, actor) != frame.ready.end();
  });
  if (found != initials.end()) {
    want(frame, *found);
  }
}

/// Of the steps after the earlier one that need not follow it, and the last step: the actors that
/// may begin. That of the last step is the first of them if it may.
std::vector<SourceSetChoices::Actor> SourceSetChoices::initials_after(std::size_t earlier) const {
  const Frame& frame = frames_[earlier];
  const std::size_t last = step_at_.back();
  std::vector<std::pair<Actor, std::size_t>> first;  // step of each actor
  std::vector<Actor> initials;
  for (auto at = std::ranges::upper_bound(step_at_, earlier); at != step_at_.end(); ++at) {
    const Frame& other = frames_[*at];
    const bool follows = other.before.of(frame.actor()) > earlier;
    if (follows && *at != last) {
      continue;
    }
    if (std::ranges::find(first, other.actor(), [](const auto& each) { return each.first; }) !=
        first.end()) {
      continue;
    }
    const bool is_initial = std::ranges::none_of(
        first, [&](const auto& each) { return other.before.of(each.first) > each.second; });
    first.emplace_back(other.actor(), *at);
    if (is_initial) {
      initials.insert(*at == last ? initials.begin() : initials.end(), other.actor());
    }
  }
  return initials;
}

void SourceSetChoices::note_disabled(std::span<const ReadyActor> ready) {
  if (step_at_.empty()) {
    return;
  }
  Frame& last = frames_[step_at_.back()];
  for (const Actor each : last.ready) {
    if (each != last.actor() && std::ranges::find(ready, each, &ReadyActor::actor) == ready.end()) {
      want(last, each);
    }
  }
}

bool SourceSetChoices::try_next(Frame& frame) {
  if (frame.is_fixed) {
    return false;
  }
  if (!frame.is_about_actors()) {
    do {
      ++frame.answer;
    } while (frame.answer < std::min(frame.options, 64U) &&
             (frame.worthwhile >> frame.answer & 1U) == 0);
    return frame.answer < frame.options;
  }
  frame.tried.push_back(frame.actor());
  if (!frame.has_other) {
    frame.asleep.push_back({.actor = frame.actor(), .step = std::move(frame.step)});
  }
  const auto next = std::ranges::find_if(frame.wanted, [&](Actor actor) {
    return std::ranges::find(frame.tried, actor) == frame.tried.end() && !is_asleep(frame, actor);
  });
  if (next == frame.wanted.end()) {
    not_tried_ += frame.ready.size() - frame.tried.size();
    return false;
  }
  const auto at = std::ranges::find(frame.ready, *next) - frame.ready.begin();
  frame.answer = static_cast<std::uint32_t>(at);
  return true;
}

bool SourceSetChoices::advance() noexcept {
  if (!is_redundant_) {
    end_step();
    note_disabled({});
  }
  // A run with fewer questions than the one before it has left frames that were not reached.
  if (depth_ < frames_.size()) {
    deterministic_ = false;
    frames_.resize(depth_);
  }
  for (; !frames_.empty(); frames_.pop_back()) {
    if (try_next(frames_.back())) {
      changed_at_ = frames_.size() - 1;
      return true;
    }
  }
  return false;
}

}  // namespace lastref::harness
