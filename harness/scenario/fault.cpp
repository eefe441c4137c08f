#include "harness/scenario/fault.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include <climits>

#include "harness/scenario/responses.hpp"

namespace lastref::harness {
namespace {

constexpr std::array rows = {
#define LASTREF_FAULT(name, phase, effect, duration, sentence) \
  FaultRow{FaultKind::name,                                    \
           #name,                                              \
           FaultPhase::phase,                                  \
           FaultEffect::effect,                                \
           FaultDuration::duration,                            \
           sentence},
#include "harness/scenario/fault_kinds.def"
#undef LASTREF_FAULT
};

/// Whether PlanInterceptor and the matrix implement the combination.
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
  }
  return false;
}
static_assert(std::ranges::all_of(rows, is_implemented));

constexpr std::string_view whole_tree_token = "whole_tree";
constexpr int errno_max = 133;
/// Names of the descriptors of pipes: those that a process makes or was passed, and standard error.
constexpr std::array<std::string_view, 3> pipes = {"pipe.write", "passed", "stderr"};

/// Removes the first token; tokens are separated by one space.
std::string_view next_token(std::string_view& text) noexcept {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view token = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return token;
}

std::optional<FaultKind> parse_kind(std::string_view token) noexcept {
  const auto* const found = std::ranges::find(rows, token, &FaultRow::name);
  return found == rows.end() ? std::nullopt : std::optional(found->kind);
}

std::optional<int> parse_error(std::string_view token) noexcept {
  for (int error = 1; error <= errno_max; ++error) {
    const char* name = strerrorname_np(error);
    if (name != nullptr && token == name) {
      return error;
    }
  }
  return std::nullopt;
}

/// `none` for a step.
Call call_named(std::string_view method) noexcept {
  const auto calls = call_rows();
  const auto found = std::ranges::find(calls, method, &CallRow::method);
  return found == calls.end() ? Call::none : found->call;
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

std::string to_text(const Site& site) {
  return site.role + '/' + site.name + '(' + site.object + ")#" + std::to_string(site.k);
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
      return false;
  }
  LASTREF_ASSERT(false);
}

std::string to_text(const Fault& fault) {
  std::string text = to_text(fault.site) + ' ' + std::string(name_of(fault.kind));
  if (takes_error(fault.kind)) {
    const char* name = strerrorname_np(fault.error);
    text += ' ' + std::string(name == nullptr ? "?" : name);
  }
  if (fault.whole_tree) {
    text += ' ' + std::string(whole_tree_token);
  }
  return text;
}

// An object may contain any of the delimiters: the last ")#" ends it.
Result<Site> parse_site(std::string_view text) {
  const auto refused = [&] {
    return failure(std::errc::invalid_argument, std::string(text) + ": not a site");
  };
  const std::size_t slash = text.find('/');
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(")#");
  if (slash == std::string_view::npos || open == std::string_view::npos ||
      close == std::string_view::npos || slash > open || open > close) {
    return refused();
  }
  const std::string_view number = text.substr(close + 2);
  std::uint32_t k = 0;
  const auto [end, wrong] = std::from_chars(number.data(), number.data() + number.size(), k);
  if (wrong != std::errc{} || end != number.data() + number.size() || k == 0) {
    return refused();
  }
  Site site{.role = std::string(text.substr(0, slash)),
            .name = std::string(text.substr(slash + 1, open - slash - 1)),
            .object = std::string(text.substr(open + 1, close - open - 1)),
            .k = k};
  if (site.role.empty() || site.name.empty()) {
    return refused();
  }
  return site;
}

Result<Fault> parse_fault(std::string_view text) {
  const auto refused = [&] {
    return failure(std::errc::invalid_argument, std::string(text) + ": not a fault");
  };
  const std::size_t close = text.rfind(")#");
  const std::size_t space = close == std::string_view::npos ? close : text.find(' ', close);
  if (space == std::string_view::npos) {
    return refused();
  }
  std::string_view rest = text.substr(space + 1);
  const Result<Site> site = parse_site(text.substr(0, space));
  const std::optional<FaultKind> kind = parse_kind(next_token(rest));
  if (!site || !kind) {
    return refused();
  }
  Fault fault{.site = *site, .kind = *kind};
  if (takes_error(fault.kind)) {
    const std::optional<int> error = parse_error(next_token(rest));
    if (!error) {
      return refused();
    }
    fault.error = *error;
  }
  if (rest == whole_tree_token && is_kill(fault.kind)) {
    fault.whole_tree = true;
    rest = {};
  }
  if (!rest.empty()) {
    return refused();
  }
  return fault;
}

std::string_view base_of(std::string_view role) noexcept {
  return role.substr(0, role.find('#'));
}

}  // namespace lastref::harness
