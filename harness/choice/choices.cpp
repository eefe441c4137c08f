#include "harness/choice/choices.hpp"

#include <algorithm>
#include <charconv>

#include <lastref/error.hpp>

namespace lastref::harness {
namespace {

/// The probability of a change is one in this many answers.
constexpr std::uint64_t change_one_in = 8;

/// So many usual answers are shown one by one, more by their number.
constexpr std::size_t shown_zeros_max = 2;
constexpr std::size_t answers_max = 1'000'000;

/// The first worthwhile answer from `from` on; `options` if there is none.
std::uint32_t next_worthwhile(std::uint32_t from, std::uint32_t options, std::uint64_t worthwhile) {
  while (from < options && from < 64 && (worthwhile >> from & 1U) == 0) {
    ++from;
  }
  return from;
}

}  // namespace

std::uint32_t Choices::pick(const Question& question) noexcept {
  LASTREF_ASSERT(question.options > 0);
  if (again_ > 0) {
    --again_;
    return question.options == 1 ? 0 : answers_[answers_.size() - recorded_again_--];
  }
  if (keeps_turns_ && !question.ready.empty()) {
    turns_.push_back({.first = question.ready.front(),
                      .may_stay = question.cost == Cost::preemption,
                      .options = question.options,
                      .question = answers_.size()});
  }
  if (question.options == 1) {
    only_one(question);
    count(question, 0);
    return 0;
  }
  const std::uint32_t picked = held_ ? 0 : answer(question);
  LASTREF_ASSERT(picked < question.options);
  answers_.push_back(picked);
  options_.push_back(question.options);
  count(question, picked);
  return picked;
}

Switch Choices::place_of(const Question& question) const noexcept {
  if (question.ready.empty()) {
    return {.kind = Switch::Kind::other, .step = other_questions_};
  }
  return place_of_actor();
}

Switch Choices::place_of_actor() const noexcept {
  return {.from = running_, .step = running_ < steps_of_.size() ? steps_of_[running_] : 0};
}

void Choices::count(const Question& question, std::uint32_t picked) {
  const bool is_actor = !question.ready.empty();
  if (picked != 0) {
    Switch made = place_of(question);
    made.to = is_actor ? question.ready[picked].actor : picked;
    switches_.push_back(made);
  }
  if (is_actor) {
    running_ = question.ready[picked].actor;
    if (running_ >= steps_of_.size()) {
      steps_of_.resize(running_ + 1);
    }
    ++steps_of_[running_];
  } else if (question.options > 1) {
    ++other_questions_;
  }
}

void Choices::begin() noexcept {
  answers_ = {};
  options_ = {};
  switches_ = {};
  turns_ = {};
  running_ = 0;
  steps_of_ = {};
  other_questions_ = 0;
  held_ = false;
  again_ = 0;
  recorded_again_ = 0;
  begun();
}

void Choices::expect_again(std::size_t questions, std::size_t recorded) noexcept {
  LASTREF_ASSERT(recorded <= std::min(questions, answers_.size()));
  again_ = questions;
  recorded_again_ = recorded;
}

std::uint32_t ListedChoices::answer(const Question& question) noexcept {
  const bool is_given = asked_ < list_.size();
  return answer_of(is_given ? std::optional(list_[asked_++]) : std::nullopt,
                   seed_ ? &state_ : nullptr,
                   question.options,
                   question.cost == Cost::preemption);
}

void ListedChoices::begun() noexcept {
  asked_ = 0;
  state_ = seed_.value_or(0);
}

std::uint32_t PolicyChoices::answer(const Question& question) noexcept {
  if (!question.ready.empty()) {
    return static_cast<std::uint32_t>(
        policy_->choose(question.ready, question.cost == Cost::preemption));
  }
  return random_answer(chance_, question.options, /*mostly_stays=*/true);
}

const Switch* SwitchChoices::wanted_at(const Switch& place) const noexcept {
  const auto found = std::ranges::find_if(wanted_, [&](const Switch& each) {
    return each.kind == place.kind && each.from == place.from && each.step == place.step;
  });
  return found == wanted_.end() ? nullptr : &*found;
}

std::uint32_t SwitchChoices::answer(const Question& question) noexcept {
  note_pause(question);
  const Switch* const wanted = wanted_at(place_of(question));
  if (question.ready.empty()) {
    return wanted == nullptr ? 0 : std::min(wanted->to, question.options - 1);
  }
  const auto is_wanted = [&](const ReadyActor& each) {
    return wanted != nullptr ? each.actor == wanted->to
                             : std::ranges::find(paused_, each.actor) == paused_.end();
  };
  const auto to = std::ranges::find_if(question.ready, is_wanted);
  if (wanted != nullptr && to != question.ready.end()) {
    std::erase(paused_, to->actor);
  }
  return to == question.ready.end() ? 0 : static_cast<std::uint32_t>(to - question.ready.begin());
}

void SwitchChoices::note_pause(const Question& question) noexcept {
  Switch place = place_of(question);
  place.kind = Switch::Kind::pause;
  if (!question.ready.empty() && wanted_at(place) != nullptr) {
    paused_.push_back(place.from);
  }
}

void PolicyChoices::fault_struck() noexcept {
  if (policy_) {
    policy_->fault_struck();
  }
}

void PolicyChoices::only_one(const Question& question) noexcept {
  if (!question.ready.empty()) {
    policy_->choose(question.ready, question.cost == Cost::preemption);
  }
}

void PolicyChoices::begun() noexcept {
  policy_ = make_policy(name_, seed_, estimate_);
  chance_ = ~seed_;
}

std::uint32_t ExhaustiveChoices::answer(const Question& question) noexcept {
  if (depth_ == frames_.size()) {
    const bool fixed = depth_ < bounds_.prefix.size();
    const bool spent =
        spent_.deviations >= bounds_.deviations ||
        (question.cost == Cost::preemption && spent_.preemptions >= bounds_.preemptions);
    if (!fixed && is_known(question)) {
      is_redundant_ = true;
      ++cut_off_;
    }
    frames_.push_back({.answer = fixed ? bounds_.prefix[depth_] : 0,
                       .options = question.options,
                       .worthwhile = fixed || spent || is_redundant_ ? 0 : question.worthwhile});
  }
  const Frame& frame = frames_[depth_++];
  if (frame.options != question.options) {
    deterministic_ = false;
  }
  const std::uint32_t picked = std::min(frame.answer, question.options - 1);
  if (picked != 0) {
    ++spent_.deviations;
    spent_.preemptions += question.cost == Cost::preemption ? 1 : 0;
  }
  note_answer(question, picked);
  return picked;
}

void ExhaustiveChoices::only_one(const Question& question) noexcept {
  note_answer(question, 0);
}

void ExhaustiveChoices::note_answer(const Question& question, std::uint32_t picked) noexcept {
  if (!question.ready.empty()) {
    others_in_step_ = 0;
    return;
  }
  ++others_in_step_;
  const Switch place = place_of_actor();
  if (picked != 0) {
    std::uint64_t hash = 0;
    for (const std::uint32_t each : {place.from, place.step, others_in_step_, picked}) {
      hash ^= each;
      hash = next_random(hash);
    }
    others_ += hash;
  }
}

/// Whether a run has come to this state before, with as much left of the bounds.
bool ExhaustiveChoices::is_known(const Question& question) {
  if (!bounds_.reduces || question.state == 0 || question.ready.empty()) {
    return false;
  }
  // Which actor can be preempted is part of the state; and with a bound of deviations, which one is
  // the usual.
  const bool names_first = question.cost == Cost::preemption || bounds_.deviations != ~0U;
  std::uint64_t key = question.state + others_ * 3;
  key = next_random(key) + (names_first ? question.ready.front().actor + 1 : 0);
  std::vector<Spent>& all = known_[next_random(key)];
  const Spent now{.preemptions = bounds_.preemptions == ~0U ? 0 : spent_.preemptions,
                  .deviations = bounds_.deviations == ~0U ? 0 : spent_.deviations};
  const auto is_no_dearer = [&now](const Spent& each) {
    return each.preemptions <= now.preemptions && each.deviations <= now.deviations;
  };
  if (std::ranges::any_of(all, is_no_dearer)) {
    return true;
  }
  all.push_back(now);
  return false;
}

void ExhaustiveChoices::begun() noexcept {
  depth_ = 0;
  spent_ = {};
  is_redundant_ = false;
  others_ = 0;
  others_in_step_ = 0;
}

bool ExhaustiveChoices::advance() noexcept {
  // A run with fewer questions than the one before it has left frames that were not reached.
  if (depth_ < frames_.size()) {
    deterministic_ = false;
    frames_.resize(depth_);
  }
  for (; !frames_.empty(); frames_.pop_back()) {
    Frame& last = frames_.back();
    // Beyond the 64th the bits have no meaning: all are tried, unless none was to be.
    last.answer = last.worthwhile == 0
                      ? last.options
                      : next_worthwhile(last.answer + 1, last.options, last.worthwhile);
    if (last.answer < last.options) {
      return true;
    }
  }
  return false;
}

std::uint64_t next_random(std::uint64_t& state) noexcept {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31U);
}

std::uint32_t random_answer(std::uint64_t& state,
                            std::uint32_t options,
                            bool mostly_stays) noexcept {
  const std::uint64_t drawn = next_random(state);
  const bool stays = mostly_stays && drawn % change_one_in != 0;
  return stays ? 0 : static_cast<std::uint32_t>((drawn >> 8U) % options);
}

std::uint32_t answer_of(std::optional<std::uint32_t> given,
                        std::uint64_t* chance,
                        std::uint32_t options,
                        bool mostly_stays) noexcept {
  if (given) {
    return std::min(*given, options - 1);
  }
  return chance == nullptr ? 0 : random_answer(*chance, options, mostly_stays);
}

std::string to_text(std::span<const std::uint32_t> answers) {
  std::string text;
  for (std::size_t at = 0; at < answers.size();) {
    const auto rest = answers.subspan(at);
    const auto usual = static_cast<std::size_t>(
        std::ranges::find_if(rest, [](std::uint32_t each) { return each != 0; }) - rest.begin());
    if (usual == rest.size()) {
      break;
    }
    text += text.empty() ? "" : ".";
    text += usual > shown_zeros_max ? '+' + std::to_string(usual) : std::to_string(answers[at]);
    at += usual > shown_zeros_max ? usual : 1;
  }
  return text;
}

std::optional<std::vector<std::uint32_t>> parse_choices(std::string_view text) {
  std::vector<std::uint32_t> answers;
  while (!text.empty()) {
    const bool is_count = text.front() == '+';
    text.remove_prefix(is_count ? 1 : 0);
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || (is_count && number > answers_max - answers.size())) {
      return std::nullopt;
    }
    answers.resize(answers.size() + (is_count ? number : 1), is_count ? 0 : number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) {
      break;
    }
    if (text.front() != '.' || text.size() == 1) {
      return std::nullopt;
    }
    text.remove_prefix(1);
  }
  return answers.size() > answers_max ? std::nullopt : std::optional(std::move(answers));
}

}  // namespace lastref::harness
