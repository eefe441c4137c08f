#include "harness/history/history.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include <lastref/error.hpp>

namespace lastref::harness::oracle {
namespace {

constexpr std::string_view claim =
    "linearizable: gets and puts have an order that write-once slots allow";

std::string text_of_value(std::uint64_t value) {
  std::string digits;
  for (; value != 0 || digits.empty(); value >>= 4U) {
    digits.insert(digits.begin(), "0123456789abcdef"[value & 0xfU]);
  }
  return "0x" + digits;
}

/// The evidence of the operations about one slot. Of several with the same demand the strictest is
/// kept.
struct Slot {
  std::uint64_t index = 0;
  const Operation* nothing = nullptr;      ///< the last invoked get that saw nothing
  const Operation* sight = nullptr;        ///< the first returned get that saw a value
  const Operation* other_sight = nullptr;  ///< a get that saw a different value
  const Operation* taken = nullptr;        ///< a put that returned true
  const Operation* taken_again = nullptr;  ///< another one
  const Operation* refused = nullptr;      ///< the put that returned false first
  // Of puts that may have taken effect:
  const Operation* winner = nullptr;  ///< the first invoked one that can be the one that did
  const Operation* misfit = nullptr;  ///< has the right value at the wrong time
  std::uint32_t misfit_count = 0;
  const Operation* untrue = nullptr;  ///< put that returned false although its value was seen

  /// Whether it certainly had a value in the end.
  bool has_value() const noexcept { return taken != nullptr || sight != nullptr; }
  /// The last moment at which it certainly had no value.
  Moment empty_until() const noexcept { return nothing == nullptr ? 0 : nothing->invoked; }
  /// The operation that returned first of those that prove a value; null if there is none.
  const Operation* proof(Refusals refusals) const noexcept {
    if (refused == nullptr || refusals == Refusals::at_any_time) {
      return sight;
    }
    return sight == nullptr || refused->returned < sight->returned ? refused : sight;
  }
};

/// The possible moments of the first freeze, as a list of spans.
class Freezing {
 public:
  struct Span {
    Moment from;
    Moment until;
  };

  void read(const Operation& freeze) {
    if (freeze.ending == Ending::no) {
      return;
    }
    freezes_.push_back(&freeze);
    if (freeze.ending == Ending::yes &&
        (certain_ == nullptr || freeze.returned < certain_->returned)) {
      certain_ = &freeze;
    }
    if (first_ == nullptr || freeze.invoked < first_->invoked) {
      first_ = &freeze;
    }
  }

  /// Call it after all operations are read. The first freeze is not after the return of one that
  /// certainly froze. A freeze invoked after that has a span that ends before it begins, and
  /// contains no moment.
  void settle(Refusals refusals) {
    for (const Operation* freeze : freezes_) {
      spans_.push_back({freeze->invoked, std::min(freeze->returned, latest())});
    }
    if (refusals == Refusals::at_a_limit) {
      spans_.push_back({0, latest()});
    }
    if (certain_ == nullptr) {
      spans_.push_back({never, never});
    }
  }

  Moment earliest() const noexcept {
    return std::ranges::min_element(spans_, {}, &Span::from)->from;
  }
  Moment latest() const noexcept { return certain_ == nullptr ? never : certain_->returned; }
  bool may_lie_in(Moment from, Moment until) const noexcept {
    return std::ranges::any_of(spans_, [&](const Span& span) {
      return std::max(span.from, from) <= std::min(span.until, until);
    });
  }
  /// The freeze that was invoked first, and the one that returned first of those that certainly
  /// froze; null if there is none.
  const Operation* first() const noexcept { return first_; }
  const Operation* certain() const noexcept { return certain_; }

 private:
  std::vector<const Operation*> freezes_;
  std::vector<Span> spans_;
  const Operation* first_ = nullptr;
  const Operation* certain_ = nullptr;
};

class HistoryOracle {
 public:
  explicit HistoryOracle(const History& history) : history_(history) {}

  std::vector<Finding> judge() {
    for (const Operation& operation : history_.operations) {
      read(operation);
    }
    for (const auto& [put, at] : puts_) {
      consider(*put, slots_[at]);
    }
    freezing_.settle(history_.refusals);
    std::ranges::sort(slots_, {}, &Slot::index);
    for (const Slot& slot : slots_) {
      judge(slot);
    }
    judge_together();
    return std::move(findings_);
  }

 private:
  /// A slot, and the limit that it sets for the moment of the freeze: not before, or not after.
  struct Demand {
    const Slot* slot = nullptr;
    Moment moment = 0;
  };

  void read(const Operation& operation) {
    LASTREF_ASSERT(is_sound(operation));
    LASTREF_ASSERT(operation.actor < history_.actors.size());
    switch (operation.kind) {
      case OperationKind::get:
        read_get(operation);
        return;
      case OperationKind::put:
        read_put(operation);
        return;
      case OperationKind::freeze:
        freezing_.read(operation);
        return;
    }
    LASTREF_ASSERT(false);
  }

  void read_get(const Operation& get) {
    if (get.ending == Ending::nothing) {
      Slot& slot = slots_[slot_of(get)];
      if (slot.nothing == nullptr || get.invoked > slot.nothing->invoked) {
        slot.nothing = &get;
      }
    } else if (get.ending == Ending::value) {
      Slot& slot = slots_[slot_of(get)];
      if (slot.sight != nullptr && get.value != slot.sight->value) {
        slot.other_sight = &get;
      } else if (slot.sight == nullptr || get.returned < slot.sight->returned) {
        slot.sight = &get;
      }
    }
  }

  void read_put(const Operation& put) {
    const std::uint32_t at = slot_of(put);
    Slot& slot = slots_[at];
    puts_.emplace_back(&put, at);
    if (put.ending == Ending::yes) {
      (slot.taken == nullptr ? slot.taken : slot.taken_again) = &put;
    } else if (put.ending == Ending::no) {
      if (slot.refused == nullptr || put.returned < slot.refused->returned) {
        slot.refused = &put;
      }
    }
  }

  std::uint32_t slot_of(const Operation& operation) {
    const auto [found, is_new] =
        slot_at_.try_emplace(operation.slot, static_cast<std::uint32_t>(slots_.size()));
    if (is_new) {
      slots_.emplace_back().index = operation.slot;
    }
    return found->second;
  }

  /// Whether this put may be the one that took effect. All values seen by gets are known.
  void consider(const Operation& put, Slot& slot) const {
    if (slot.sight != nullptr && slot.sight->value != put.value) {
      return;
    }
    if (put.ending == Ending::no) {
      slot.untrue = &put;
      return;
    }
    if (slot.taken != nullptr && slot.taken != &put) {
      return;
    }
    const Operation* proof = slot.proof(history_.refusals);
    const Moment proven = proof == nullptr ? never : proof->returned;
    if (slot.empty_until() > std::min(put.returned, proven) || put.invoked > proven) {
      slot.misfit = &put;
      ++slot.misfit_count;
    } else if (slot.winner == nullptr || put.invoked < slot.winner->invoked) {
      slot.winner = &put;
    }
  }

  void judge(const Slot& slot) {
    if (std::string wrong = contradiction_in(slot); !wrong.empty()) {
      complain(slot, std::move(wrong));
    } else if (slot.has_value()) {
      if (slot.winner == nullptr) {
        complain(slot, misfit_of(slot));
        return;
      }
      const Moment earliest = std::max(slot.winner->invoked, slot.empty_until());
      if (earliest > freezing_.latest()) {
        complain(slot, after_freeze(slot));
      } else if (not_before_.slot == nullptr || earliest > not_before_.moment) {
        not_before_ = {&slot, earliest};
      }
    } else if (slot.winner == nullptr && slot.proof(history_.refusals) != nullptr) {
      const Moment latest = slot.refused->returned;
      if (latest < freezing_.earliest()) {
        complain(slot, before_freeze(slot));
      } else if (not_after_.slot == nullptr || latest < not_after_.moment) {
        not_after_ = {&slot, latest};
      }
    }
    // Otherwise no freeze is too early, because the slot was left empty, and none too late.
  }

  /// Each slot alone allows a freeze; the two strictest demands have to allow the same one.
  void judge_together() {
    const Moment from = not_before_.slot == nullptr ? 0 : not_before_.moment;
    const Moment until = not_after_.slot == nullptr ? never : not_after_.moment;
    if (freezing_.may_lie_in(from, until)) {
      return;
    }
    // One demand alone is met by the first moment of a freeze, or by the last one.
    LASTREF_ASSERT(not_before_.slot != nullptr);
    LASTREF_ASSERT(not_after_.slot != nullptr);
    const std::string refused = named(*not_after_.slot->refused);
    const std::string where = " in slot " + std::to_string(not_after_.slot->index);
    const std::string taking = taking_of(*not_before_.slot);
    complain(*not_before_.slot,
             from > until ? taking + " after " + refused + " had been refused" + where
                          : taking + ", " + refused + " was refused" + where +
                                ", and no freeze was under way in between");
  }

  /// A contradiction that does not depend on the times of the puts; empty if there is none.
  std::string contradiction_in(const Slot& slot) const {
    if (slot.taken_again != nullptr) {
      return told(*slot.taken) + ", and so did " + named(*slot.taken_again);
    }
    if (slot.other_sight != nullptr) {
      return told(*slot.sight) + ", and " + told(*slot.other_sight);
    }
    if (slot.sight == nullptr) {
      return {};
    }
    if (slot.taken != nullptr && slot.taken->value != slot.sight->value) {
      return told(*slot.sight) + ", though " + told(*slot.taken) + " with " +
             text_of_value(slot.taken->value);
    }
    if (slot.empty_until() > slot.sight->returned) {
      return told(*slot.nothing) + " after " + named(*slot.sight) + " had seen " +
             text_of_value(slot.sight->value);
    }
    return {};
  }

  /// Why an existing value cannot have come from any put.
  std::string misfit_of(const Slot& slot) const {
    if (slot.misfit == nullptr) {
      return slot.untrue == nullptr ? told(*slot.sight) + ", which no put stored"
                                    : told(*slot.sight) + ", though " + told(*slot.untrue);
    }
    const Operation* proof = slot.proof(history_.refusals);
    const bool is_between = slot.nothing != nullptr && proof != nullptr;
    if (is_between && slot.nothing->invoked > proof->returned) {
      const Operation& last = slot.taken == nullptr ? *slot.sight : *slot.taken;
      return told(*slot.nothing) + " after " + told(*proof) + ", and yet " + told(last);
    }
    if (is_between && slot.misfit_count > 1) {
      return "no put was under way after " + told(*slot.nothing) + " and before " + told(*proof);
    }
    return late_or_early(slot, *slot.misfit);
  }

  /// A put, and the get or put for which it is too late or too early.
  std::string late_or_early(const Slot& slot, const Operation& put) const {
    if (put.returned < slot.empty_until()) {
      return told(*slot.nothing) + " after " + told(put) +
             (put.ending == Ending::yes || slot.sight == nullptr ? ""
                                                                 : ", and " + told(*slot.sight));
    }
    return told(*slot.proof(history_.refusals)) + " before " + named(put) + " of " +
           text_of_value(put.value) + " had begun";
  }

  std::string after_freeze(const Slot& slot) const {
    return taking_of(slot) + " after " + named(*freezing_.certain()) + " had frozen it";
  }

  std::string before_freeze(const Slot& slot) const {
    const std::string unfrozen = freezing_.first() == nullptr
                                     ? ", and nothing froze it"
                                     : " before " + named(*freezing_.first()) + " had begun";
    const std::string text = told(*slot.refused) + unfrozen;
    if (slot.empty_until() > slot.refused->returned) {
      return text + ", and " + told(*slot.nothing) + " after that";
    }
    if (slot.misfit == nullptr) {
      return text + ", with no other put of the slot";
    }
    if (slot.misfit->invoked > slot.refused->returned) {
      return text + ", and no put of the slot had begun before " + named(*slot.misfit);
    }
    return text + ", and " + told(*slot.nothing) + " after " + told(*slot.misfit);
  }

  /// When the value came, described by the operations that show its earliest moment.
  std::string taking_of(const Slot& slot) const {
    const Operation& winner = *slot.winner;
    std::string text;
    if (slot.empty_until() > winner.invoked) {
      text = told(*slot.nothing) + " and ";
    }
    return text + (winner.ending == Ending::yes
                       ? told(winner)
                       : named(winner) + " took effect, for " + told(*slot.sight) + ",");
  }

  /// "get by worker_2 [17..19]"
  std::string named(const Operation& operation) const {
    static constexpr std::array<std::string_view, 3> kinds = {"get", "put", "freeze"};
    std::string text(kinds[static_cast<std::size_t>(operation.kind)]);
    text += " by " + history_.actors[operation.actor] + " [" + std::to_string(operation.invoked);
    text += "..";
    return text + (operation.returned == never ? "" : std::to_string(operation.returned)) + ']';
  }

  /// "get by worker_2 [17..19] saw nothing"
  std::string told(const Operation& operation) const {
    switch (operation.ending) {
      case Ending::pending:
        return named(operation) + " never returned";
      case Ending::failed:
        return named(operation) + " failed";
      case Ending::nothing:
        return named(operation) + " saw nothing";
      case Ending::value:
        return named(operation) + " saw " + text_of_value(operation.value);
      case Ending::yes:
        return named(operation) + " returned true";
      case Ending::no:
        return named(operation) + " returned false";
    }
    LASTREF_ASSERT(false);
  }

  void complain(const Slot& slot, std::string wrong) {
    findings_.push_back({.claim = std::string(claim),
                         .seen = "slot " + std::to_string(slot.index) + ": " + std::move(wrong)});
  }

  const History& history_;
  std::unordered_map<std::uint64_t, std::uint32_t> slot_at_;
  std::vector<Slot> slots_;
  std::vector<std::pair<const Operation*, std::uint32_t>> puts_;
  Freezing freezing_;
  Demand not_before_;
  Demand not_after_;
  std::vector<Finding> findings_;
};

}  // namespace

bool is_sound(const Operation& operation) noexcept {
  if ((operation.ending == Ending::pending) != (operation.returned == never)) {
    return false;
  }
  if (operation.invoked > operation.returned || operation.invoked == never) {
    return false;
  }
  const bool is_get = operation.kind == OperationKind::get;
  switch (operation.ending) {
    case Ending::pending:
    case Ending::failed:
      return true;
    case Ending::nothing:
    case Ending::value:
      return is_get;
    case Ending::yes:
    case Ending::no:
      return !is_get;
  }
  return false;
}

std::vector<Finding> linearizable(const History& history) {
  return HistoryOracle(history).judge();
}

}  // namespace lastref::harness::oracle
