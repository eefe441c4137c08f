#include "property_tests/harness/history/search.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include <lastref/error.hpp>

namespace lastref::pretend {
namespace {

using harness::oracle::Ending;
using harness::oracle::History;
using harness::oracle::Operation;
using harness::oracle::OperationKind;
using harness::oracle::Refusals;

constexpr std::size_t operations_max = 16;
constexpr std::size_t slots_max = 4;
constexpr std::size_t values_max = 14;

/// Adds a new element; returns the index.
std::size_t index_in(std::vector<std::uint64_t>& all, std::uint64_t each, std::size_t count_max) {
  const auto found = std::ranges::find(all, each);
  const auto index = static_cast<std::size_t>(found - all.begin());
  if (found == all.end()) {
    all.push_back(each);
    LASTREF_ASSERT(all.size() <= count_max);
  }
  return index;
}

/// The state of a cache, and which operations have happened.
struct Position {
  std::array<std::uint8_t, slots_max> values{};  ///< 0 is none.
  bool frozen = false;
  std::uint32_t happened = 0;  ///< one bit each

  std::uint64_t key() const noexcept {
    std::uint64_t key = happened;
    for (const std::uint8_t value : values) {
      key = key << 4U | value;
    }
    return key << 1U | (frozen ? 1U : 0U);
  }
};

class Search {
 public:
  explicit Search(const History& history) : history_(history) {
    LASTREF_ASSERT(history.operations.size() <= operations_max);
    for (const Operation& each : history.operations) {
      const bool is_freeze = each.kind == OperationKind::freeze;
      slot_.push_back(is_freeze ? 0 : index_in(slots_, each.slot, slots_max));
      value_.push_back(
          is_freeze ? 0 : static_cast<std::uint8_t>(index_in(values_, each.value, values_max) + 1));
    }
  }

  bool reaches_the_end(const Position& from) {
    if (!seen_.insert(from.key()).second) {
      return false;
    }
    bool is_over = true;
    for (std::size_t at = 0; at < history_.operations.size(); ++at) {
      const bool has_happened = (from.happened >> at & 1U) != 0;
      is_over = is_over && (has_happened || history_.operations[at].ending == Ending::pending);
    }
    if (is_over) {
      return true;
    }
    if (history_.refusals == Refusals::at_a_limit && !from.frozen) {
      Position frozen = from;
      frozen.frozen = true;
      if (reaches_the_end(frozen)) {
        return true;
      }
    }
    for (std::size_t at = 0; at < history_.operations.size(); ++at) {
      if (may_be_next(from, at) && happens(from, at)) {
        return true;
      }
    }
    return false;
  }

 private:
  bool may_be_next(const Position& from, std::size_t at) const {
    if ((from.happened >> at & 1U) != 0) {
      return false;
    }
    for (std::size_t other = 0; other < history_.operations.size(); ++other) {
      const bool is_to_come = (from.happened >> other & 1U) == 0;
      if (is_to_come && history_.operations[other].returned < history_.operations[at].invoked) {
        return false;
      }
    }
    return true;
  }

  /// Whether the end can be reached with this operation next, with any result that it can have.
  bool happens(const Position& from, std::size_t at) {
    const Operation& operation = history_.operations[at];
    Position idle = from;
    idle.happened |= 1U << at;
    Position done = idle;
    bool can_be_done = true;
    if (operation.kind == OperationKind::freeze) {
      done.frozen = true;
    } else {
      can_be_done = !from.frozen && from.values[slot_[at]] == 0;
      done.values[slot_[at]] = value_[at];
    }
    const std::uint8_t value = from.values[slot_[at]];
    switch (operation.ending) {
      case Ending::pending:
      case Ending::failed:
        return reaches_the_end(idle) ||
               (operation.kind != OperationKind::get && can_be_done && reaches_the_end(done));
      case Ending::nothing:
        return value == 0 && reaches_the_end(idle);
      case Ending::value:
        return value == value_[at] && reaches_the_end(idle);
      case Ending::yes:
        return can_be_done && reaches_the_end(done);
      case Ending::no:
        return (operation.kind == OperationKind::freeze || value != 0 || from.frozen ||
                history_.refusals == Refusals::at_any_time) &&
               reaches_the_end(idle);
    }
    return false;
  }

  const History& history_;
  std::vector<std::uint64_t> slots_;
  std::vector<std::uint64_t> values_;
  std::vector<std::size_t> slot_;    ///< of each operation
  std::vector<std::uint8_t> value_;  ///< of each operation, from 1
  std::unordered_set<std::uint64_t> seen_;
};

}  // namespace

bool has_lawful_order(const History& history) {
  return Search(history).reaches_the_end({});
}

}  // namespace lastref::pretend
