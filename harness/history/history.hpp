// History: the operations of callers of a write-once cache and their answers, and the oracle
// `linearizable`.
//
// A history is valid if each operation can be given one moment between its invocation and its
// return, such that in the order of those moments a slot takes the first value that it is offered
// and keeps it, and takes none once the cache is frozen. The oracle is exact: it reports a finding
// exactly when there are no such moments.
//
// It needs no search, because a slot changes once. Let x be the moment at which a slot takes its
// value. Then any put that may have taken effect can be taken as the one that did, if x can lie
//   after  the invocation of that put, and of every get that saw nothing,
//   before the return of that put, of every get that saw the value, and of every put that
//          returned false.
// For example: put 0xa by a [1..9] = true, get by b [2..4] = none, get by c [3..6] = 0xa is valid,
// with x anywhere in 2..6; if b had asked in [7..8], there would be no x. Without a value there is
// no x, and a put that returned false needs a freeze before its return. So each slot makes at most
// one demand on the moment z at which the cache freezes: not before the earliest x, or not after
// the earliest return of a put that returned false. What remains is to find one z for all slots.
//
// Limits: a history covers one cache, so preload, which replaces the cache, begins a new history.
// Values are compared by their hash, so two with the same hash count as one.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "harness/scenario/finding.hpp"

namespace lastref::harness::oracle {

/// A count of one clock that all actors share. Only the order matters; operations that share a
/// moment overlap.
using Moment = std::uint64_t;
/// The return of an operation that never returned.
inline constexpr Moment never = std::numeric_limits<Moment>::max();

enum class OperationKind : std::uint8_t {
  get,
  put,
  freeze,  ///< preserve, or anything else after which no slot takes a value
};

/// How an operation ended.
enum class Ending : std::uint8_t {
  pending,  ///< It did not return. It happened at some moment after its invocation, or never.
  failed,   ///< With an error. It happened before it returned, or never.
  nothing,  ///< A get, of a slot without a value.
  value,    ///< A get, with a value.
  yes,      ///< A put that gave the slot its value; a freeze that froze.
  no,       ///< A put that returned false: present or refused. A freeze that changed nothing.
};

struct Operation {
  std::uint64_t slot = 0;  ///< Unused for a freeze.
  std::uint64_t value =
      0;  ///< Identity of the value that put was given, or get saw: a hash of the bytes.
  Moment invoked = 0;
  Moment returned = never;  ///< `never` exactly if pending.
  std::uint32_t actor = 0;  ///< Index of a name in the history.
  OperationKind kind = OperationKind::get;
  Ending ending = Ending::pending;

  bool operator==(const Operation&) const = default;
};

/// Whether this ending is possible for the kind of operation, and its moments are in order.
bool is_sound(const Operation& operation) noexcept;

/// When a put may be refused, that is, return false although the slot has no value.
enum class Refusals : std::uint8_t {
  when_frozen,  ///< Only after a freeze of the history.
  at_a_limit,   ///< The cache may also freeze by itself, permanently: a limit of size.
  at_any_time,  ///< Any put: a full disk, a closed cache, or nothing is known.
};

struct History {
  std::vector<std::string> actors;
  std::vector<Operation> operations;  ///< In any order.
  Refusals refusals = Refusals::when_frozen;

  bool operator==(const History&) const = default;
};

/// Checks that gets and puts have an order that write-once slots allow. Each finding starts with
/// "slot 3: " and names two or three operations that no order fits; a slot has at most one finding.
/// Slots that are lawful one by one and need the freeze at moments that exclude each other share
/// one finding.
///
/// Takes time linear in the history. REQUIRES operations that are sound, of actors that have names.
std::vector<Finding> linearizable(const History& history);

}  // namespace lastref::harness::oracle
