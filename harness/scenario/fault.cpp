#include "harness/scenario/fault.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <climits>

#include "harness/scenario/fault_text.hpp"
#include "harness/scenario/responses.hpp"

namespace lastref::harness {
namespace {

constexpr std::array rows = {
#define LASTREF_FAULT(name, where, phase, effect, duration, sentence) \
  FaultRow{FaultKind::name,                                           \
           #name,                                                     \
           FaultWhere::where,                                         \
           FaultPhase::phase,                                         \
           FaultEffect::effect,                                       \
           FaultDuration::duration,                                   \
           sentence},
#include "harness/scenario/fault_kinds.def"
#undef LASTREF_FAULT
};

/// Whether PlanInterceptor and the matrix, or FaultInjector, implement the combination.
constexpr bool is_implemented(const FaultRow& row) noexcept {
  const bool is_once = row.duration == FaultDuration::once;
  switch (row.effect) {
    case FaultEffect::kill:
      return row.phase != FaultPhase::at_limit && is_once;
    case FaultEffect::fail:
      return row.phase == FaultPhase::before;
    case FaultEffect::shorten:
    case FaultEffect::interrupt:
      return row.phase == FaultPhase::before && is_once;
    case FaultEffect::expire:
      return row.phase == FaultPhase::at_limit && row.duration != FaultDuration::in_role;
    case FaultEffect::pause:
      return row.phase == FaultPhase::after && is_once;
    case FaultEffect::stop:
    case FaultEffect::send:
      return row.phase == FaultPhase::after && is_once && row.where == FaultWhere::watched;
    case FaultEffect::outsider:
      return row.phase == FaultPhase::before && is_once && row.where == FaultWhere::watched;
  }
  return false;
}
static_assert(std::ranges::all_of(rows, is_implemented));

/// Names of the descriptors of pipes: those that a process makes or was passed, and standard error.
constexpr std::array<std::string_view, 3> pipes = {"pipe.write", "passed", "stderr"};

/// `none` for a step.
Call call_named(std::string_view method) noexcept {
  const auto calls = call_rows();
  const auto found = std::ranges::find(calls, method, &CallRow::method);
  return found == calls.end() ? Call::none : found->call;
}

tl::unexpected<Error> refused(std::string_view text, const Error& error) {
  return failure(error.code, std::string(text) + ": " + error.subject);
}

SiteText text_of(const Site& site) noexcept {
  return {.role = site.role,
          .call = site.name,
          .object = site.object,
          .calls = CallRange{.first = site.k, .last = site.k}};
}

Result<Site> site_of(const SiteText& text) {
  if (!text.role || !text.object || !text.calls || text.calls->first != text.calls->last ||
      text.calls->first > std::numeric_limits<std::uint32_t>::max()) {
    return failure(std::errc::invalid_argument,
                   "a scenario needs one whole site, ROLE/CALL(OBJECT)#K; only lastref run takes "
                   "a part of it, or several calls");
  }
  return Site{.role = std::string(*text.role),
              .name = std::string(text.call),
              .object = std::string(*text.object),
              .k = static_cast<std::uint32_t>(text.calls->first)};
}

}  // namespace

std::span<const FaultRow> fault_rows() noexcept {
  return rows;
}

const FaultRow& row_of(FaultKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  LASTREF_ASSERT(index < rows.size());
  return rows[index];
}

std::string_view name_of(FaultKind kind) noexcept {
  return row_of(kind).name;
}

bool is_kill(FaultKind kind) noexcept {
  return row_of(kind).effect == FaultEffect::kill;
}

bool takes_whole_tree(FaultKind kind) noexcept {
  return is_kill(kind) || row_of(kind).effect == FaultEffect::send;
}

bool may_be_cut(std::string_view call, std::string_view object, std::int64_t bytes) noexcept {
  if (call != row_of(Call::write).method && call != row_of(Call::write_at).method) {
    return false;
  }
  const bool is_file = std::ranges::find(pipes, object) == pipes.end();
  return bytes > (is_file ? 1 : PIPE_BUF);
}

bool takes_error(FaultKind kind) noexcept {
  return row_of(kind).effect == FaultEffect::fail;
}

bool is_for_ever(FaultKind kind) noexcept {
  return takes_error(kind) && row_of(kind).duration != FaultDuration::once;
}

bool is_early_timeout(FaultKind kind) noexcept {
  return row_of(kind).effect == FaultEffect::expire;
}

bool fails_for_ever(const Fault& fault, std::string_view role, std::string_view call) noexcept {
  const bool is_meant = row_of(fault.kind).duration == FaultDuration::in_role
                            ? base_of(fault.site.role) == base_of(role)
                            : fault.site.role == role;
  return is_for_ever(fault.kind) && is_meant && fault.site.name == call;
}

bool is_benign(const Fault& fault) noexcept {
  switch (row_of(fault.kind).effect) {
    case FaultEffect::shorten:
    case FaultEffect::interrupt:
    case FaultEffect::pause:
      return true;
    case FaultEffect::fail:
      return !is_for_ever(fault.kind) &&
             is_unnoticed(response_to(call_named(fault.site.name), fault.error, fault.site.role));
    case FaultEffect::kill:
    case FaultEffect::expire:
    case FaultEffect::stop:
    case FaultEffect::send:
    case FaultEffect::outsider:
      return false;
  }
  LASTREF_ASSERT(false);
}

std::string to_text(const Site& site) {
  return to_text(text_of(site));
}

std::string to_text(const Fault& fault) {
  return to_text(FaultText{
      .site = text_of(fault.site),
      .action = {.kind = fault.kind, .error = fault.error, .whole_tree = fault.whole_tree}});
}

Result<Site> parse_site(std::string_view text) {
  const Result<SiteText> parsed = parse_site_text(text);
  Result<Site> site = parsed ? site_of(*parsed) : tl::unexpected(parsed.error());
  return site ? std::move(site) : refused(text, site.error());
}

Result<Fault> parse_fault(std::string_view text) {
  LASTREF_TRY(parsed, parse_fault_text(text, FaultWhere::gated));
  Result<Site> site = site_of(parsed.site);
  if (!site) {
    return refused(text, site.error());
  }
  return Fault{.site = *std::move(site),
               .kind = parsed.action.kind,
               .error = parsed.action.error,
               .whole_tree = parsed.action.whole_tree};
}

std::string_view base_of(std::string_view role) noexcept {
  return role.substr(0, role.find('#'));
}

}  // namespace lastref::harness
