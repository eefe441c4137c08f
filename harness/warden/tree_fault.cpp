#include "harness/warden/tree_fault.hpp"

#include <fmt/format.h>

#include "harness/warden/syscalls.hpp"

namespace lastref::harness::warden {
namespace {

using std::string_view;

tl::unexpected<Error> wrong(string_view text, string_view why) {
  return failure(std::errc::invalid_argument, fmt::format("{}: {}", text, why));
}

/// Why the fault cannot apply to any such call; empty: it can.
std::string misfit_of(const TreeFault& fault, const SyscallRow& row) {
  const FaultRow& kind = row_of(fault.action.kind);
  if (is_cut(fault.action.kind) && row.size < 0) {
    return fmt::format("{} does not write bytes; lastref run shortens only writes", row.name);
  }
  const bool is_before = kind.phase == FaultPhase::before && kind.effect != FaultEffect::fail;
  if (row.effect == Effect::ends && !is_before) {
    return fmt::format("{} cannot fail, and does not come back", row.name);
  }
  if (kind.effect == FaultEffect::outsider && row.first.path < 0 && row.descriptor < 0) {
    return fmt::format("{} is given no name", row.name);
  }
  return "";
}

}  // namespace

bool is_cut(FaultKind kind) noexcept {
  const FaultRow& row = row_of(kind);
  return row.effect == FaultEffect::shorten || row.phase == FaultPhase::during_write;
}

Result<TreeFault> parse_tree_fault(string_view text) {
  LASTREF_TRY(parsed, parse_fault_text(text, FaultWhere::watched));
  const SiteText& site = parsed.site;
  const CallRange calls = site.calls.value_or(CallRange{});
  const bool is_always = parsed.action.kind == FaultKind::fail_always;
  const TreeFault fault{.role = std::string(site.role.value_or("*")),
                        .call = std::string(site.call),
                        .object = std::string(site.object.value_or("*")),
                        .k = calls.first,
                        .last = is_always ? TreeFault::no_end : calls.last,
                        .action = parsed.action,
                        .is_of_strace = parsed.is_of_strace};
  const SyscallRow* const row = syscall_named(fault.call);
  if (row == nullptr) {
    return wrong(
        text,
        fmt::format("no fault can be at a call \"{}\"; lastref run --calls lists all", fault.call));
  }
  if (const std::string misfit = misfit_of(fault, *row); !misfit.empty()) {
    return wrong(text, misfit);
  }
  return fault;
}

std::string to_text(const TreeFault& fault) {
  // A fail_always has no last call.
  const bool is_always = fault.action.kind == FaultKind::fail_always;
  return to_text(FaultText{
      .site = {.role = fault.role,
               .call = fault.call,
               .object = fault.object,
               .calls = CallRange{.first = fault.k, .last = is_always ? fault.k : fault.last}},
      .action = fault.action,
      .is_of_strace = fault.is_of_strace});
}

}  // namespace lastref::harness::warden
