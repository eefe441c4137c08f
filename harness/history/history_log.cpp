#include "harness/history/history_log.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "harness/history/history_text.hpp"
#include "harness/journal/record.hpp"

namespace lastref::harness {

using oracle::Ending;
using oracle::History;
using oracle::OperationKind;

namespace {

enum State : std::uint32_t { unwritten, invoked, returned };

}  // namespace

struct HistoryLog::Head {
  std::uint64_t clock;
  std::uint64_t claimed;
  std::byte space[48];
};

/// Half of it is written at the invocation, half at the return.
struct HistoryLog::Entry {
  std::uint32_t state;
  OperationKind kind;
  Ending ending;
  RoleText actor;
  std::uint64_t slot;
  std::uint64_t value;
  std::uint64_t invoked;
  std::uint64_t returned;
};

void HistoryLog::UnderWay::saw(std::optional<std::uint64_t> value) const noexcept {
  end(value ? Ending::value : Ending::nothing, value.value_or(0));
}

void HistoryLog::UnderWay::answered(bool yes) const noexcept {
  end(yes ? Ending::yes : Ending::no, 0);
}

void HistoryLog::UnderWay::failed() const noexcept {
  end(Ending::failed, 0);
}

void HistoryLog::UnderWay::end(Ending ending, std::uint64_t value) const noexcept {
  if (entry_ == nullptr) {
    return;
  }
  // The increment of the clock is both an acquire and a release: the effects of an operation happen
  // before every operation that is invoked after its return.
  const std::uint64_t now = std::atomic_ref(*clock_).fetch_add(1, std::memory_order_acq_rel);
  LASTREF_ASSERT(entry_->state == invoked);
  entry_->ending = ending;
  if (entry_->kind == OperationKind::get) {
    entry_->value = value;
  }
  entry_->returned = now;
  std::atomic_ref(entry_->state).store(returned, std::memory_order_release);
}

std::size_t HistoryLog::size_for(std::uint32_t operations) noexcept {
  return sizeof(Head) + operations * sizeof(Entry);
}

HistoryLog::HistoryLog(std::span<std::byte> memory) noexcept
    : head_(reinterpret_cast<Head*>(memory.data())) {
  static_assert(sizeof(Head) == 64);
  static_assert(sizeof(Entry) == 64, "one line of a cache, so that writers do not share any");
  static_assert(std::is_trivially_copyable_v<Entry>);
  LASTREF_ASSERT(memory.size() >= sizeof(Head));
  LASTREF_ASSERT(reinterpret_cast<std::uintptr_t>(memory.data()) % sizeof(Entry) == 0);
  entries_ = {reinterpret_cast<Entry*>(head_ + 1), memory.size() / sizeof(Entry) - 1};
}

HistoryLog::UnderWay HistoryLog::invoke(const Invocation& invocation) noexcept {
  LASTREF_ASSERT(oracle::is_name_of_actor(invocation.actor));
  const std::uint64_t at = std::atomic_ref(head_->claimed).fetch_add(1, std::memory_order_relaxed);
  if (at >= entries_.size()) {
    return {head_->clock, nullptr};
  }
  Entry& entry = entries_[at];
  entry.kind = invocation.kind;
  entry.actor.assign(invocation.actor);
  entry.slot = invocation.slot;
  entry.value = invocation.kind == OperationKind::put ? invocation.value : 0;
  entry.invoked = std::atomic_ref(head_->clock).fetch_add(1, std::memory_order_acq_rel);
  // No process reads this before all writers have ended. The order matters for a writer that is
  // killed: the operation does not begin before its entry is complete.
  std::atomic_ref(entry.state).store(invoked, std::memory_order_release);
  return {head_->clock, &entry};
}

Result<History> HistoryLog::history(oracle::Refusals refusals) const {
  const std::uint64_t claimed = std::atomic_ref(head_->claimed).load(std::memory_order_acquire);
  if (claimed > entries_.size()) {
    return failure(std::errc::no_buffer_space,
                   "history log: " + std::to_string(claimed) + " operations, space for " +
                       std::to_string(entries_.size()));
  }
  History history;
  history.refusals = refusals;
  std::unordered_map<std::string_view, std::uint32_t> actor_at;
  for (Entry& entry : entries_.first(claimed)) {
    const std::uint32_t state = std::atomic_ref(entry.state).load(std::memory_order_acquire);
    if (state == unwritten) {
      continue;  // Its writer was killed before it began.
    }
    const auto [actor, is_new] =
        actor_at.try_emplace(entry.actor.view(), static_cast<std::uint32_t>(history.actors.size()));
    if (is_new) {
      history.actors.emplace_back(entry.actor.view());
    }
    const bool has_returned = state == returned;
    history.operations.push_back({.slot = entry.slot,
                                  .value = entry.value,
                                  .invoked = entry.invoked,
                                  .returned = has_returned ? entry.returned : oracle::never,
                                  .actor = actor->second,
                                  .kind = entry.kind,
                                  .ending = has_returned ? entry.ending : Ending::pending});
  }
  return history;
}

}  // namespace lastref::harness
