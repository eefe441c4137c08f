#include "harness/warden/tree_fault.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "harness/platform/names.hpp"
#include "harness/warden/syscalls.hpp"

namespace lastref::harness::warden {
namespace {

using std::string_view;

constexpr std::array strikes = {
    std::pair{Strike::fail, string_view("fail")},
    std::pair{Strike::shorten, string_view("shorten")},
    std::pair{Strike::kill, string_view("kill")},
    std::pair{Strike::kill_after, string_view("kill_after")},
    std::pair{Strike::kill_amid, string_view("kill_amid")},
    std::pair{Strike::kill_tree, string_view("kill_tree")},
    std::pair{Strike::pause, string_view("pause")},
    std::pair{Strike::stop, string_view("stop")},
    std::pair{Strike::outsider, string_view("outsider")},
};

constexpr std::array deeds = {
    std::pair{Deed::unlinks, string_view("unlinks")},
    std::pair{Deed::truncates, string_view("truncates")},
    std::pair{Deed::replaces, string_view("replaces")},
    std::pair{Deed::takes_rights, string_view("takes_rights")},
    std::pair{Deed::plants_link, string_view("plants_link")},
    std::pair{Deed::closes_folder, string_view("closes_folder")},
};

template <typename Kind, std::size_t n>
std::optional<Kind> kind_named(const std::array<std::pair<Kind, string_view>, n>& rows,
                               string_view name) {
  const auto row = std::ranges::find(rows, name, &std::pair<Kind, string_view>::second);
  return row == rows.end() ? std::nullopt : std::optional(row->first);
}

template <typename Kind, std::size_t n>
string_view name_of(const std::array<std::pair<Kind, string_view>, n>& rows, Kind kind) {
  return std::ranges::find(rows, kind, &std::pair<Kind, string_view>::first)->second;
}

template <typename Kind, std::size_t n>
std::string names_of(const std::array<std::pair<Kind, string_view>, n>& rows) {
  std::string names;
  for (const auto& [kind, name] : rows) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

tl::unexpected<Error> wrong(string_view text, string_view why) {
  return failure(std::errc::invalid_argument, fmt::format("{}: {}", text, why));
}

std::optional<std::uint64_t> count_of(string_view text) {
  std::uint64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, count);
  return error == std::errc{} && at == end && count > 0 ? std::optional(count) : std::nullopt;
}

/// "3", "3-" (no end), "3-5"; `dash` is the text for "-", and `for_ever` the text for an absent
/// end.
bool read_range(TreeFault& fault, string_view text, string_view dash, string_view for_ever) {
  const std::size_t end = std::min(text.find(dash), text.find(for_ever));
  const auto k = count_of(text.substr(0, end));
  const string_view rest = end == string_view::npos ? "" : text.substr(end);
  const bool is_one = rest.empty();
  const bool is_open = rest == for_ever;
  const auto last = is_one                   ? k
                    : is_open                ? std::optional(TreeFault::for_ever)
                    : rest.starts_with(dash) ? count_of(rest.substr(dash.size()))
                                             : std::nullopt;
  if (!k || !last || *last < *k) {
    return false;
  }
  fault.k = *k;
  fault.last = *last;
  return true;
}

/// Cuts `text` off before the last `mark`, and returns what followed the mark.
std::optional<string_view> cut_behind(string_view& text, char mark) {
  const std::size_t at = text.rfind(mark);
  if (at == string_view::npos) {
    return std::nullopt;
  }
  const string_view behind = text.substr(at + 1);
  text = text.substr(0, at);
  return behind;
}

/// Why the fault cannot apply to any such call; empty: it can.
std::string misfit_of(const TreeFault& fault, const SyscallRow& row) {
  const bool is_cut = fault.strike == Strike::shorten || fault.strike == Strike::kill_amid;
  if (is_cut && row.size < 0) {
    return fmt::format("{} writes no bytes that could be fewer", row.name);
  }
  if (row.effect == Effect::ends && fault.strike != Strike::kill &&
      fault.strike != Strike::kill_tree && fault.strike != Strike::pause) {
    return fmt::format("{} cannot fail, and does not come back", row.name);
  }
  if (fault.strike == Strike::outsider && row.first.path < 0 && row.descriptor < 0) {
    return fmt::format("{} is given no name", row.name);
  }
  return "";
}

Status set_call(TreeFault& fault, string_view text, string_view call) {
  const SyscallRow* const row = syscall_named(call);
  if (row == nullptr) {
    return wrong(
        text, fmt::format("no fault can be at a call \"{}\"; lastref run --calls lists all", call));
  }
  if (const std::string misfit = misfit_of(fault, *row); !misfit.empty()) {
    return wrong(text, misfit);
  }
  fault.call = call;
  return ok();
}

Status set_error(TreeFault& fault, string_view text, string_view name) {
  const auto error = error_named(name);
  if (!error) {
    return wrong(text, fmt::format("no error is called \"{}\"", name));
  }
  fault.error = *error;
  return ok();
}

/// "openat:error=ENOSPC:when=3". strace(1), inject
Result<TreeFault> parse_as_strace(string_view text) {
  TreeFault fault;
  fault.last = TreeFault::for_ever;
  fault.strike = Strike::fail;
  string_view rest = text;
  const string_view call = rest.substr(0, rest.find(':'));
  rest.remove_prefix(call.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const string_view part = rest.substr(0, rest.find(':'));
    rest.remove_prefix(part.size());
    if (part.starts_with("error=")) {
      LASTREF_CHECK(set_error(fault, text, part.substr(6)));
    } else if (part == "signal=KILL" || part == "signal=SIGKILL") {
      fault.strike = Strike::kill;
    } else if (!part.starts_with("when=") || !read_range(fault, part.substr(5), "..", "+")) {
      return wrong(
          text,
          fmt::format("\"{}\" is none of error=, when=N, when=N+, when=N..M, signal=KILL", part));
    }
  }
  if (fault.strike == Strike::fail && fault.error == 0) {
    return wrong(text, "no error= is given");
  }
  LASTREF_CHECK(set_call(fault, text, call));
  return fault;
}

/// Cuts the action off the end: "fail ENOSPC", "outsider unlinks", "kill".
Status take_strike(TreeFault& fault, string_view text, string_view& rest) {
  string_view action = cut_behind(rest, ' ').value_or("");
  if (rest.ends_with(" fail") || rest.ends_with(" fail_always")) {
    LASTREF_CHECK(set_error(fault, text, action));
  }
  if (const auto error = error_named(action)) {
    fault.error = *error;
    action = cut_behind(rest, ' ').value_or("");
  } else if (const auto deed = kind_named(deeds, action)) {
    fault.deed = *deed;
    action = cut_behind(rest, ' ').value_or("");
  }
  const bool is_always = action == "fail_always";
  const auto strike = is_always ? Strike::fail : kind_named(strikes, action);
  if (!strike) {
    return wrong(text, "it ends with none of: " + names_of(strikes));
  }
  fault.strike = *strike;
  fault.last = is_always ? TreeFault::for_ever : fault.last;
  if ((fault.strike == Strike::fail) != (fault.error != 0)) {
    return wrong(text, "fail needs the name of an error, and nothing else does");
  }
  if ((fault.strike == Strike::outsider) != (fault.deed != Deed::none)) {
    return wrong(text, "an outsider does one of: " + names_of(deeds));
  }
  return ok();
}

/// Cuts "#3-5" off the end, if present.
Status take_range(TreeFault& fault, string_view text, string_view& rest) {
  const std::size_t behind_object = rest.rfind(')');
  const std::size_t mark = rest.find('#', behind_object == string_view::npos ? 0 : behind_object);
  if (mark == string_view::npos) {
    return ok();
  }
  const std::uint64_t given = fault.last;
  if (!read_range(fault, rest.substr(mark + 1), "-", "-")) {
    return wrong(text, "behind # stands 3, 3-5, or 3- for all from there on");
  }
  fault.last = std::max(fault.last, given);
  rest = rest.substr(0, mark);
  return ok();
}

}  // namespace

Result<TreeFault> parse_tree_fault(string_view text) {
  string_view rest = text;
  if (rest.find(' ') == string_view::npos && rest.find(':') != string_view::npos) {
    return parse_as_strace(text);
  }
  TreeFault fault;
  LASTREF_CHECK(take_strike(fault, text, rest));
  LASTREF_CHECK(take_range(fault, text, rest));
  if (rest.ends_with(')')) {
    const std::size_t begin = rest.find('(');
    if (begin == string_view::npos) {
      return wrong(text, "no ( before )");
    }
    fault.object = rest.substr(begin + 1, rest.size() - begin - 2);
    rest = rest.substr(0, begin);
  }
  const string_view call = cut_behind(rest, '/').value_or("");
  if (!call.empty()) {
    fault.role = rest;
  }
  LASTREF_CHECK(set_call(fault, text, call.empty() ? rest : call));
  return fault;
}

std::string to_text(const TreeFault& fault) {
  std::string text = fmt::format("{}/{}({})#{}", fault.role, fault.call, fault.object, fault.k);
  if (fault.last == TreeFault::for_ever) {
    text += '-';
  } else if (fault.last != fault.k) {
    text += fmt::format("-{}", fault.last);
  }
  text += fmt::format(" {}", name_of(strikes, fault.strike));
  if (fault.strike == Strike::fail) {
    text += ' ' + name_of_error(fault.error);
  }
  if (fault.strike == Strike::outsider) {
    text += fmt::format(" {}", name_of(deeds, fault.deed));
  }
  return text;
}

}  // namespace lastref::harness::warden
