// Fault: one failure, injected at one site of a run. A site is (role, call, object, k-th).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lastref/call.hpp>
#include <lastref/error.hpp>

namespace lastref::harness {

/// One row of fault_kinds.def, in its order.
enum class FaultKind : std::uint8_t {
#define LASTREF_FAULT(name, ...) name,
#include "harness/scenario/fault_kinds.def"
#undef LASTREF_FAULT
};

/// See fault_kinds.def.
enum class FaultWhere : std::uint8_t { everywhere, gated, watched };
enum class FaultPhase : std::uint8_t { before, during_write, blocked, at_limit, after };
enum class FaultEffect : std::uint8_t {
  kill,
  fail,
  shorten,
  expire,
  interrupt,
  pause,
  stop,
  send,
  outsider
};
enum class FaultDuration : std::uint8_t { once, in_process, in_role };

struct FaultRow {
  FaultKind kind;
  std::string_view name;
  FaultWhere where;
  FaultPhase phase;
  FaultEffect effect;
  FaultDuration duration;
  std::string_view sentence;
};

/// All rows, in the order of the enumeration.
std::span<const FaultRow> fault_rows() noexcept;
const FaultRow& row_of(FaultKind kind) noexcept;

std::string_view name_of(FaultKind kind) noexcept;
/// Whether it kills the process.
bool is_kill(FaultKind kind) noexcept;
/// Whether it may be for the whole tree: kills, and signals that are sent.
bool takes_whole_tree(FaultKind kind) noexcept;
/// Whether a fault of this kind makes a call fail, with the errno of the fault.
bool takes_error(FaultKind kind) noexcept;

/// Whether it keeps its effect on later calls once it has been injected.
bool is_for_ever(FaultKind kind) noexcept;

/// The site of a call or step: stable under small changes elsewhere. Roles are "root", "tracker",
/// "client_a" and so on; the second process in a role is "tracker#2". Names of objects contain no
/// machine name, pid or random part.
struct Site {
  std::string role;
  std::string name;  ///< The method of a call ("unlink") or the name of a step ("tracker_doomed").
  std::string object;   ///< "" where the call has none.
  std::uint32_t k = 1;  ///< From 1: the k-th crossing of this role, name and object.

  auto operator<=>(const Site&) const = default;
};

/// The name of the site of an allocation by the product. It has no object: k counts the allocations
/// of one process.
inline constexpr std::string_view allocation_site = "operator_new";

inline bool is_allocation(const Site& site) noexcept {
  return site.name == allocation_site;
}

/// "tracker" for "tracker#2": the role without the number of the process.
std::string_view base_of(std::string_view role) noexcept;

struct Fault {
  Site site;
  FaultKind kind = FaultKind::kill_before;
  int error = 0;            ///< errno, if its kind takes one
  bool whole_tree = false;  ///< Every process of the run, at this moment.

  auto operator<=>(const Fault&) const = default;
};

/// Whether it makes a time limit end early.
bool is_early_timeout(FaultKind kind) noexcept;

/// Whether that call of a process in that role fails permanently once the fault has been injected.
bool fails_for_ever(const Fault& fault, std::string_view role, std::string_view call) noexcept;

/// Whether a death can leave only a part of these bytes: true for writes to files. A pipe gets up
/// to PIPE_BUF bytes entirely or not at all (pipe(7)), and a message is always entire.
bool may_be_cut(std::string_view call, std::string_view object, std::int64_t bytes) noexcept;

/// Whether the fault must have no visible effect: a single errno that the program has to ignore or
/// retry (calls.def), a shortened transfer, which has to be continued, a pause, or ignored
/// signals.
bool is_benign(const Fault& fault) noexcept;

/// "tracker/unlink(a.bin)#1 kill_before", and back.
///
/// Errors          parse_fault, parse_site: invalid_argument; it says what is wrong in the text.
std::string to_text(const Fault& fault);
std::string to_text(const Site& site);
Result<Fault> parse_fault(std::string_view text);
Result<Site> parse_site(std::string_view text);

}  // namespace lastref::harness
