#include "harness/warden/tree_fault.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "harness/oracle/error_names.hpp"
#include "harness/warden/syscalls.hpp"

namespace lastref::harness::warden {
namespace {

constexpr std::array strikes = {
    std::pair{Strike::fail, std::string_view("fail")},
    std::pair{Strike::fail_always, std::string_view("fail_always")},
    std::pair{Strike::kill, std::string_view("kill")},
    std::pair{Strike::kill_after, std::string_view("kill_after")},
    std::pair{Strike::kill_tree, std::string_view("kill_tree")},
};

bool has_error(Strike strike) noexcept {
  return strike == Strike::fail || strike == Strike::fail_always;
}

tl::unexpected<Error> wrong(std::string_view text, std::string_view why) {
  return failure(std::errc::invalid_argument, fmt::format("{}: {}", text, why));
}

std::optional<std::uint64_t> count_of(std::string_view text) {
  std::uint64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, count);
  return error == std::errc{} && at == end && count > 0 ? std::optional(count) : std::nullopt;
}

/// Cuts `text` off behind the last `mark`, and gives what stood behind it.
std::optional<std::string_view> cut_behind(std::string_view& text, char mark) {
  const std::size_t at = text.rfind(mark);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view behind = text.substr(at + 1);
  text = text.substr(0, at);
  return behind;
}

Status set_call(TreeFault& fault, std::string_view text, std::string_view call) {
  const SyscallRow* const row = syscall_named(call);
  if (row == nullptr) {
    return wrong(text, fmt::format("the warden does not know the call \"{}\"", call));
  }
  if (row->effect == Effect::ends && has_error(fault.strike)) {
    return wrong(text, fmt::format("{} cannot fail", call));
  }
  fault.call = call;
  return ok();
}

Status set_error(TreeFault& fault, std::string_view text, std::string_view name) {
  const auto error = error_named(name);
  if (!error) {
    return wrong(text, fmt::format("no error is called \"{}\"", name));
  }
  fault.error = *error;
  return ok();
}

/// "openat:error=ENOSPC:when=3". strace(1), inject
Result<TreeFault> parse_as_strace(std::string_view text) {
  TreeFault fault;
  fault.strike = Strike::fail_always;
  std::string_view rest = text;
  const std::string_view call = rest.substr(0, rest.find(':'));
  rest.remove_prefix(call.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view part = rest.substr(0, rest.find(':'));
    rest.remove_prefix(part.size());
    if (part.starts_with("error=")) {
      LASTREF_CHECK(set_error(fault, text, part.substr(6)));
    } else if (const auto k = part.starts_with("when=") ? count_of(part.substr(5)) : std::nullopt) {
      fault.k = *k;
      fault.strike = fault.strike == Strike::kill ? Strike::kill : Strike::fail;
    } else if (part == "signal=KILL" || part == "signal=SIGKILL") {
      fault.strike = Strike::kill;
    } else {
      return wrong(text, fmt::format("\"{}\" is none of error=, when=N, signal=KILL", part));
    }
  }
  if (has_error(fault.strike) && fault.error == 0) {
    return wrong(text, "no error= is given");
  }
  LASTREF_CHECK(set_call(fault, text, call));
  return fault;
}

}  // namespace

Result<TreeFault> parse_tree_fault(std::string_view text) {
  std::string_view rest = text;
  if (rest.find(' ') == std::string_view::npos && rest.find(':') != std::string_view::npos) {
    return parse_as_strace(text);
  }
  TreeFault fault;
  std::string_view action = cut_behind(rest, ' ').value_or("");
  if (const auto error = error_named(action)) {
    fault.error = *error;
    action = cut_behind(rest, ' ').value_or("");
  }
  const auto strike =
      std::ranges::find(strikes, action, &std::pair<Strike, std::string_view>::second);
  if (strike == strikes.end()) {
    return wrong(
        text, "it ends with none of: fail ERROR, fail_always ERROR, kill, kill_after, kill_tree");
  }
  fault.strike = strike->first;
  if (has_error(fault.strike) != (fault.error != 0)) {
    return wrong(text, "fail and fail_always need the name of an error, and nothing else does");
  }
  const std::size_t behind_object = rest.rfind(')');
  const std::size_t mark =
      rest.find('#', behind_object == std::string_view::npos ? 0 : behind_object);
  if (mark != std::string_view::npos) {
    const auto k = count_of(rest.substr(mark + 1));
    if (!k) {
      return wrong(text, "behind # stands a number, 1 or more");
    }
    fault.k = *k;
    rest = rest.substr(0, mark);
  }
  if (rest.ends_with(')')) {
    const std::size_t begin = rest.find('(');
    if (begin == std::string_view::npos) {
      return wrong(text, "no ( before )");
    }
    fault.object = rest.substr(begin + 1, rest.size() - begin - 2);
    rest = rest.substr(0, begin);
  }
  const std::string_view call = cut_behind(rest, '/').value_or("");
  if (!call.empty()) {
    fault.role = rest;
  }
  LASTREF_CHECK(set_call(fault, text, call.empty() ? rest : call));
  return fault;
}

std::string to_text(const TreeFault& fault) {
  const auto strike =
      std::ranges::find(strikes, fault.strike, &std::pair<Strike, std::string_view>::first);
  std::string text =
      fmt::format("{}/{}({})#{} {}", fault.role, fault.call, fault.object, fault.k, strike->second);
  if (has_error(fault.strike)) {
    text += ' ' + oracle::name_of_error(fault.error);
  }
  return text;
}

}  // namespace lastref::harness::warden
