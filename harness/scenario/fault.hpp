// Fault: one bad thing that happens at one site of a run. A site is (role, call, object, k-th).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <lastref/call.hpp>
#include <lastref/error.hpp>

namespace lastref::harness {

/// What can happen at a crossing. The order is that of the matrix columns.
enum class FaultKind : std::uint8_t {
  kill_before,   ///< SIGKILL instead of the call.
  kill_after,    ///< SIGKILL when the call has had its effect.
  kill_amid,     ///< SIGKILL in the middle of a write: about half of the bytes are there.
  kill_blocked,  ///< SIGKILL while the call waits; only for sites that waited in the clean run.
  fail_once,     ///< The call fails with `error`, this time.
  fail_always,   ///< It fails from now on, for this role and call, on whatever object.
  fail_in_all,  ///< So it does for every process of the role, those that are started later as well.
  shorten,      ///< It takes or gives about half of the bytes, but at least one.
  time_out,  ///< Its limit is over at once, although somebody could go on: the clock moves there.
  time_out_always,  ///< So it is from now on, for this role and call, where nothing is ready.
  interrupt,        ///< SIGINT and SIGTERM come just before it. Nobody dies who does not mind them.
  pause,            ///< After it, its thread goes on only when nobody else can.
};

std::string_view name_of(FaultKind kind) noexcept;
/// Whether it is one of the deaths.
bool is_kill(FaultKind kind) noexcept;
/// Whether a fault of this kind makes a call fail, with the errno of the fault.
bool takes_error(FaultKind kind) noexcept;

/// Whether it goes on striking once it has struck.
bool is_for_ever(FaultKind kind) noexcept;

/// Where: stable under small changes elsewhere. Roles are "root", "tracker", "client_a" and so on;
/// the second process in a role is "tracker#2". Objects are names without machine, pid or chance in
/// them.
struct Site {
  std::string role;
  std::string name;  ///< The method of a call ("unlink") or the name of a step ("tracker_doomed").
  std::string object;   ///< "" where the call has none.
  std::uint32_t k = 1;  ///< From 1: the k-th crossing of this role, name and object.

  auto operator<=>(const Site&) const = default;
};

/// The name of the site of an allocation by the product, which has no object: k counts those of one
/// process.
inline constexpr std::string_view allocation_site = "operator_new";

inline bool is_allocation(const Site& site) noexcept {
  return site.name == allocation_site;
}

/// "tracker" for "tracker#2": a role whatever its incarnation.
std::string_view base_of(std::string_view role) noexcept;

struct Fault {
  Site site;
  FaultKind kind = FaultKind::kill_before;
  int error = 0;            ///< errno, if its kind takes one
  bool whole_tree = false;  ///< With a kill: every process of the run, at this moment.

  auto operator<=>(const Fault&) const = default;
};

/// Whether it makes a time limit end early.
bool is_early_timeout(FaultKind kind) noexcept;

/// Whether that call of a process in that role fails for ever, once the fault has struck.
bool fails_for_ever(const Fault& fault, std::string_view role, std::string_view call) noexcept;

/// Whether death can leave a part of these bytes behind: those that go into a file. What goes into
/// a pipe is there whole or not at all up to PIPE_BUF bytes (pipe(7)), and a message always is.
bool may_be_cut(std::string_view call, std::string_view object, std::int64_t bytes) noexcept;

/// Whether nobody may notice it: an errno that came once and is to be retried away (responses.def);
/// what was taken or given in part goes on, and a pause and signals that are ignored are nothing.
bool is_benign(const Fault& fault) noexcept;

/// "tracker/unlink(a.bin)#1 kill_before", and back.
///
/// Errors          parse_fault, parse_site: invalid_argument.
std::string to_text(const Fault& fault);
std::string to_text(const Site& site);
Result<Fault> parse_fault(std::string_view text);
Result<Site> parse_site(std::string_view text);

}  // namespace lastref::harness
