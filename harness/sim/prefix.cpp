#include "harness/sim/prefix.hpp"

#include <algorithm>

#include "harness/instrument/limits.hpp"
#include "harness/platform/hash.hpp"
#include "harness/program/thrown.hpp"

namespace lastref::harness::sim {
namespace {

/// More of them cost more memory, and save less: half of the distance between two is run again.
constexpr std::size_t checkpoints_max = 12;

}  // namespace

Question RecordedQuestions::question(std::size_t index) const noexcept {
  const Recorded& each = questions_[index];
  return {.options = each.options,
          .cost = each.cost,
          .ready = std::span(ready_).subspan(each.ready_at, each.ready)};
}

std::size_t RecordedQuestions::until_first_choice() const noexcept {
  const auto found =
      std::ranges::find_if(questions_, [](const Recorded& each) { return each.options > 1; });
  return static_cast<std::size_t>(found - questions_.begin());
}

std::uint32_t RecordedQuestions::answer(const Question& question) noexcept {
  record(question);
  return 0;
}

void RecordedQuestions::begun() noexcept {
  questions_.clear();
  ready_.clear();
}

void RecordedQuestions::record(const Question& question) {
  questions_.push_back({.options = question.options,
                        .cost = question.cost,
                        .ready_at = static_cast<std::uint32_t>(ready_.size()),
                        .ready = static_cast<std::uint32_t>(question.ready.size())});
  ready_.insert(ready_.end(), question.ready.begin(), question.ready.end());
}

Prefix::Prefix(const Plan& plan, ArenaMemory& memory, Stacks& stacks, const Start& start) {
  plan_.wants_estimate = plan.wants_estimate;
  plan_.parameters = plan.parameters;
  // The first run shows how many questions there are.
  for (const bool is_copied : {false, true}) {
    questions_.begin();
    const Arena arena(memory);
    const StacksInUse in_use(stacks);
    thrown_before_ = exceptions_thrown();
    WholeRun& run = start(plan_, questions_);
    run_ = &run;
    run.run.interceptors.counts_allocations = true;
    run.run.machine.scheduler.checkpoints = is_copied ? this : nullptr;
    for (run.host->enter(); !run.is_over; run.host->enter()) {
      const ArenaPause outlives_the_run;
      copy(stacks);
    }
    const ArenaPause outlives_the_run;
    if (!is_copied) {
      const std::size_t first = questions_.until_first_choice();
      const std::size_t rest = questions_.size() - first;
      for (std::size_t at = 0; at < checkpoints_max; ++at) {
        due_.push_back(first + rest * at / checkpoints_max);
      }
      due_.erase(std::ranges::unique(due_).begin(), due_.end());
      std::ranges::reverse(due_);
    } else if (!checkpoints_.empty()) {
      const auto records = run.run.journal.records().first(checkpoints_.back()->records);
      records_.assign(records.begin(), records.end());
    }
  }
  for (std::size_t at = 0; at < records_.size(); ++at) {
    const Record& record = records_[at];
    if (record.kind == RecordKind::begin && !record.observed) {
      begins_.try_emplace(
          hash_of_site(record.role.view(), record.name.view(), record.object.view(), record.k), at);
    }
  }
}

void Prefix::reach() noexcept {
  if (due_.empty() || questions_.size() < due_.back()) {
    return;
  }
  due_.pop_back();
  // With all records of crossings, a fault is where the journal has its site.
  const bool is_whole = run_->run.journal.size() < records_of_crossings_max;
  if (is_whole && exceptions_thrown() == thrown_before_) {
    run_->host->leave();
    // Here another run may continue, with other questions.
  }
}

void Prefix::copy(const Stacks& stacks) {
  std::map<std::string, std::uint32_t> allocations;
  for (const Member* member : run_->run.by_index) {
    allocations[member->role] = member->interceptor->allocations();
  }
  const ArenaImage* const before = checkpoints_.empty() ? nullptr : &checkpoints_.back()->arena;
  checkpoints_.push_back(
      std::make_unique<const Checkpoint>(Checkpoint{.questions = questions_.size(),
                                                    .records = run_->run.journal.size(),
                                                    .allocations = std::move(allocations),
                                                    .arena = ArenaImage(before),
                                                    .stacks = StacksImage(stacks)}));
}

/// Cut as in a record, so that a site is never missed. A collision makes a prefix shorter.
std::uint64_t Prefix::hash_of_site(std::string_view role,
                                   std::string_view name,
                                   std::string_view object,
                                   std::uint32_t k) noexcept {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;
  std::uint64_t hash = hash_of(RoleText(role).view());
  hash = hash * factor + hash_of(NameText(name).view());
  hash = hash * factor + hash_of(ObjectText(object).view());
  return hash * factor + k;
}

bool Prefix::precedes_faults(const Checkpoint& checkpoint, const Plan& plan) const {
  return std::ranges::all_of(plan.faults, [&](const Fault& fault) {
    const Site& site = fault.site;
    if (is_allocation(site)) {
      const auto found = checkpoint.allocations.find(site.role);
      return found == checkpoint.allocations.end() || found->second < site.k;
    }
    const auto found = begins_.find(hash_of_site(site.role, site.name, site.object, site.k));
    return found == begins_.end() || checkpoint.records <= found->second;
  });
}

WholeRun* Prefix::resume(const Plan& plan,
                         Choices& choices,
                         Stacks& stacks,
                         RunJournal& journal) const {
  const auto precede = [&](const auto& each) { return precedes_faults(*each, plan); };
  const auto end = std::ranges::partition_point(checkpoints_, precede);
  if (end == checkpoints_.begin()) {
    return nullptr;
  }
  std::size_t asked = 0;
  bool is_usual = true;
  {
    const ArenaPause outlives_the_run;
    while (is_usual && asked < (*std::prev(end))->questions) {
      is_usual = choices.pick(questions_.question(asked++)) == 0;
    }
  }
  const auto next = std::ranges::find_if(checkpoints_.begin(), end, [&](const auto& each) {
    return each->questions > asked - (is_usual ? 0U : 1U);
  });
  if (next == checkpoints_.begin()) {
    return nullptr;
  }
  const Checkpoint& checkpoint = **std::prev(next);
  std::size_t recorded = 0;
  for (std::size_t at = checkpoint.questions; at < asked; ++at) {
    recorded += questions_.question(at).options > 1 ? 1U : 0U;
  }
  choices.expect_again(asked - checkpoint.questions, recorded);
  checkpoint.arena.restore();
  checkpoint.stacks.restore(stacks);
  {
    const ArenaPause outlives_the_run;
    journal.start_with(std::span(records_).first(checkpoint.records));
  }
  run_->run.continue_with(plan, choices);
  return run_;
}

std::size_t Prefix::size() const noexcept {
  std::size_t sum = records_.size() * sizeof(Record) + questions_.size() * 4 * sizeof(ReadyActor);
  for (const auto& each : checkpoints_) {
    sum += each->arena.size() + each->stacks.size();
  }
  return sum;
}

}  // namespace lastref::harness::sim
