// History: what callers of a write-once cache asked and were told, and the oracle `linearizable`.
//
// A history is lawful if each operation can be given one moment between its invocation and its
// return, such that in the order of those moments a slot takes the first value that it is offered
// and keeps it, and takes none once the cache is frozen. The oracle is exact: it finds something
// exactly when there are no such moments.
//
// It needs no search, because a slot changes once. Let x be the moment at which a slot takes its
// value. Then any put that may have taken effect will do as the one that did, if x can lie
//   after  the invocation of that put, and of every get that saw nothing,
//   before the return of that put, of every get that saw the value, and of every put told false.
// For example: put 0xa by a [1..9] = true, get by b [2..4] = none, get by c [3..6] = 0xa is
// lawful, with x anywhere in 2..6; had b asked in [7..8], there would be no x. Without a value
// there is no x, and a put told false needs a freeze before its return. So of the moment z at which
// the cache freezes every slot asks at most one thing: not before the earliest x, or not after the
// earliest return of a put told false. What remains is one z for all slots.
//
// Limits: within a history the cache is one and the same, so preload, which replaces it, begins a
// new one. Values are compared by their identity, so two that share a hash are one.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "harness/scenario/finding.hpp"

namespace lastref::harness::oracle {

/// A count of one clock that all actors share. Only the order matters; operations that touch at the
/// same moment overlap.
using Moment = std::uint64_t;
/// When what never returned has returned.
inline constexpr Moment never = std::numeric_limits<Moment>::max();

enum class OperationKind : std::uint8_t {
  get,
  put,
  freeze,  ///< preserve, or anything else after which no slot takes a value
};

/// How an operation came back.
enum class Ending : std::uint8_t {
  pending,  ///< Not at all. It happened at some moment after its invocation, or never.
  failed,   ///< With an error. It happened before it returned, or never.
  nothing,  ///< A get, of a slot without a value.
  value,    ///< A get, with a value.
  yes,      ///< A put that gave the slot its value; a freeze that froze.
  no,       ///< A put told false: present or refused. A freeze that left things as they were.
};

struct Operation {
  std::uint64_t slot = 0;  ///< Not of a freeze.
  std::uint64_t value =
      0;  ///< The identity of what put was given, or get saw: a hash of the bytes.
  Moment invoked = 0;
  Moment returned = never;  ///< `never` exactly if pending.
  std::uint32_t actor = 0;  ///< Index of a name in the history.
  OperationKind kind = OperationKind::get;
  Ending ending = Ending::pending;

  bool operator==(const Operation&) const = default;
};

/// Whether the kind of operation can end so, and its moments are in order.
bool is_sound(const Operation& operation) noexcept;

/// When a put may be refused, which is to be told false though the slot has no value.
enum class Refusals : std::uint8_t {
  when_frozen,  ///< Only after a freeze of the history.
  at_a_limit,   ///< The cache may also freeze by itself, once and for good: a limit of size.
  at_any_time,  ///< Each put as it comes: a full disk, a closed cache, or nothing is known.
};

struct History {
  std::vector<std::string> actors;
  std::vector<Operation> operations;  ///< In any order.
  Refusals refusals = Refusals::when_frozen;

  bool operator==(const History&) const = default;
};

/// Gets and puts have an order that write-once slots allow. Each finding starts with "slot 3: " and
/// names two or three operations that no order fits; a slot has one at most. Slots that are lawful
/// one by one and need the freeze at moments that exclude each other share one finding.
///
/// Takes time linear in the history. REQUIRES operations that are sound, of actors that have names.
std::vector<Finding> linearizable(const History& history);

}  // namespace lastref::harness::oracle
