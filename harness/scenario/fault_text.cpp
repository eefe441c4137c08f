#include "harness/scenario/fault_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "harness/platform/names.hpp"

namespace lastref::harness {
namespace {

using std::string_view;

constexpr string_view whole_tree_token = "whole_tree";
constexpr std::uint64_t seconds_max = 3600;  ///< Of a pause

/// Other words for kinds of faults, and the kinds.
constexpr std::array other_words = {
    std::pair{string_view("fail"), string_view("fail_once")},
    std::pair{string_view("kill"), string_view("kill_before")},
    std::pair{string_view("kill_tree"), string_view("kill_before whole_tree")},
    std::pair{string_view("outsider closes_folder"), string_view("outsider_chmod_parent")},
    std::pair{string_view("outsider plants_link"), string_view("outsider_symlink")},
    std::pair{string_view("outsider replaces"), string_view("outsider_replace")},
    std::pair{string_view("outsider takes_rights"), string_view("outsider_chmod_000")},
    std::pair{string_view("outsider truncates"), string_view("outsider_truncate")},
    std::pair{string_view("outsider unlinks"), string_view("outsider_unlink")},
};

std::string quoted(string_view text) {
  return '"' + std::string(text) + '"';
}

tl::unexpected<Error> refused(std::string why) {
  return failure(std::errc::invalid_argument, std::move(why));
}

/// Removes the first token; tokens are separated by one space.
string_view next_token(string_view& text) noexcept {
  const std::size_t end = std::min(text.find(' '), text.size());
  const string_view token = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return token;
}

bool exists(const FaultRow& row, FaultWhere where) noexcept {
  return row.where == FaultWhere::everywhere || row.where == where;
}

string_view verbs_of(FaultWhere where) noexcept {
  return where == FaultWhere::watched ? "lastref run" : "lastref gate, replay and explore";
}

/// Why the text names no kind of fault that exists there.
std::string refusal_of(string_view text, const FaultRow* row, FaultWhere where) {
  if (row != nullptr) {
    return std::string(row->name) + " exists only in " + std::string(verbs_of(row->where));
  }
  const auto* const other = std::ranges::find_if(other_words, [&](const auto& each) {
    return text == each.first || text.starts_with(std::string(each.first) + ' ');
  });
  if (other != other_words.end()) {
    return "instead of " + quoted(other->first) + ", write " + std::string(other->second);
  }
  return quoted(text.substr(0, text.find(' '))) + " is none of " + names_of_faults(where);
}

Result<int> parse_error(string_view name) {
  if (const std::optional<int> error = error_named(name)) {
    return *error;
  }
  return refused("no error is called " + quoted(name));
}

std::optional<std::uint64_t> count_of(string_view text) {
  std::uint64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, count);
  return error == std::errc{} && at == end && count > 0 ? std::optional(count) : std::nullopt;
}

/// Whether faults of this kind take a number of seconds there.
bool takes_seconds(FaultKind kind, FaultWhere where) noexcept {
  return kind == FaultKind::pause && where == FaultWhere::watched;
}

Result<FaultAction> parse_action(string_view text, FaultWhere where) {
  const string_view all = text;
  const string_view name = next_token(text);
  const auto rows = fault_rows();
  const auto found = std::ranges::find(rows, name, &FaultRow::name);
  const FaultRow* const row = found == rows.end() ? nullptr : &*found;
  if (row == nullptr || !exists(*row, where)) {
    return refused(refusal_of(all, row, where));
  }
  FaultAction action{.kind = row->kind};
  if (takes_error(action.kind)) {
    const string_view error = next_token(text);
    if (error.empty()) {
      return refused(std::string(name) + " needs the name of an error");
    }
    LASTREF_TRY(value, parse_error(error));
    action.error = value;
  }
  if (text == whole_tree_token && takes_whole_tree(action.kind)) {
    action.whole_tree = true;
    text = {};
  }
  if (const auto seconds = count_of(text);
      seconds && *seconds <= seconds_max && takes_seconds(action.kind, where)) {
    action.seconds = static_cast<std::uint32_t>(*seconds);
    text = {};
  }
  if (!text.empty()) {
    return refused(std::string(name) + " does not take " + quoted(text));
  }
  return action;
}

/// "3", "3-" (no end), "3-5"; `dash` is the text for "-", and `no_end` the text for an absent end.
std::optional<CallRange> parse_range(string_view text, string_view dash, string_view no_end) {
  const std::size_t end = std::min(text.find(dash), text.find(no_end));
  const auto first = count_of(text.substr(0, end));
  const string_view rest = end == string_view::npos ? "" : text.substr(end);
  const auto last = rest.empty()             ? first
                    : rest == no_end         ? std::optional(CallRange::no_end)
                    : rest.starts_with(dash) ? count_of(rest.substr(dash.size()))
                                             : std::nullopt;
  return first && last && *first <= *last ? std::optional(CallRange{*first, *last}) : std::nullopt;
}

bool is_in_syntax_of_strace(string_view text) noexcept {
  return text.find(' ') == string_view::npos && text.find(':') != string_view::npos;
}

/// "openat:error=ENOSPC:when=3". strace(1), inject
Result<FaultText> parse_as_strace(string_view text) {
  FaultText fault{.site = {.call = text.substr(0, text.find(':'))},
                  .action = {.kind = FaultKind::fail_once},
                  .is_of_strace = true};
  CallRange calls{.last = CallRange::no_end};
  text.remove_prefix(fault.site.call.size());
  while (!text.empty()) {
    text.remove_prefix(1);
    const string_view part = text.substr(0, text.find(':'));
    text.remove_prefix(part.size());
    const auto range =
        part.starts_with("when=") ? parse_range(part.substr(5), "..", "+") : std::nullopt;
    if (part.starts_with("error=")) {
      LASTREF_TRY(error, parse_error(part.substr(6)));
      fault.action.error = error;
    } else if (part == "signal=KILL" || part == "signal=SIGKILL") {
      fault.action.kind = FaultKind::kill_before;
    } else if (range) {
      calls = *range;
    } else {
      return refused(quoted(part) + " is none of error=, when=N, when=N+, when=N..M, signal=KILL");
    }
  }
  if (takes_error(fault.action.kind) && fault.action.error == 0) {
    return refused("no error= is given");
  }
  fault.site.calls = calls;
  return fault;
}

/// "root/openat(/a)#1 kill_before"
Result<FaultText> parse_native(string_view text, FaultWhere where) {
  // An object may contain any of the delimiters: the last ")" ends it. A role may contain spaces.
  const std::size_t close = text.rfind(')');
  const std::size_t slash = text.rfind('/');
  const std::size_t space = text.find(' ',
                                      close != string_view::npos   ? close
                                      : slash != string_view::npos ? slash
                                                                   : 0);
  if (space == string_view::npos) {
    return refused("it does not end with one of " + names_of_faults(where));
  }
  LASTREF_TRY(action, parse_action(text.substr(space + 1), where));
  LASTREF_TRY(site, parse_site_text(text.substr(0, space)));
  return FaultText{.site = site, .action = action, .is_of_strace = false};
}

}  // namespace

std::string names_of_faults(FaultWhere where) {
  std::string names;
  for (const FaultRow& row : fault_rows()) {
    if (exists(row, where)) {
      names += (names.empty() ? "" : ", ") + std::string(row.name);
      names += takes_error(row.kind)            ? " ERROR"
               : takes_whole_tree(row.kind)     ? " [whole_tree]"
               : takes_seconds(row.kind, where) ? " [SECONDS]"
                                                : "";
    }
  }
  return names;
}

Result<SiteText> parse_site_text(string_view text) {
  SiteText site;
  // A role may contain "#".
  const std::size_t end_of_object = text.rfind(')');
  const std::size_t end_of_role = end_of_object == string_view::npos ? text.rfind('/') : 0;
  const std::size_t from = end_of_object != string_view::npos ? end_of_object
                           : end_of_role != string_view::npos ? end_of_role
                                                              : 0;
  if (const std::size_t mark = text.find('#', from); mark != string_view::npos) {
    site.calls = parse_range(text.substr(mark + 1), "-", "-");
    if (!site.calls) {
      return refused("after # comes 3, 3-5, or 3- for all from the third on");
    }
    text = text.substr(0, mark);
  }
  if (text.ends_with(')')) {
    const std::size_t open = text.find('(');
    if (open == string_view::npos) {
      return refused("no ( before )");
    }
    site.object = text.substr(open + 1, text.size() - open - 2);
    text = text.substr(0, open);
  }
  if (const std::size_t slash = text.rfind('/'); slash != string_view::npos) {
    site.role = text.substr(0, slash);
    text.remove_prefix(slash + 1);
  }
  if (text.empty() || (site.role && site.role->empty())) {
    return refused("the name of the call or of the role is missing");
  }
  site.call = text;
  return site;
}

Result<FaultText> parse_fault_text(string_view text, FaultWhere where) {
  const bool is_strace = is_in_syntax_of_strace(text);
  if (is_strace && where != FaultWhere::watched) {
    return refused(std::string(text) + ": only lastref run takes the syntax of strace");
  }
  Result<FaultText> fault = is_strace ? parse_as_strace(text) : parse_native(text, where);
  if (!fault) {
    return refused(std::string(text) + ": " + fault.error().subject);
  }
  FaultKind& kind = fault->action.kind;
  std::optional<CallRange>& calls = fault->site.calls;
  if (kind == FaultKind::fail_once && calls && calls->last == CallRange::no_end) {
    kind = FaultKind::fail_always;
    calls->last = calls->first;
  }
  return fault;
}

std::string to_text(const SiteText& site) {
  const CallRange calls = site.calls.value_or(CallRange{});
  std::string text = site.role ? std::string(*site.role) + '/' : "";
  text += site.call;
  text += site.object ? '(' + std::string(*site.object) + ')' : "";
  text += '#' + std::to_string(calls.first);
  if (calls.last == CallRange::no_end) {
    text += '-';
  } else if (calls.last != calls.first) {
    text += '-' + std::to_string(calls.last);
  }
  return text;
}

std::string to_text(const FaultAction& action) {
  std::string text(name_of(action.kind));
  text += takes_error(action.kind) ? ' ' + name_of_error(action.error) : "";
  text += action.whole_tree ? ' ' + std::string(whole_tree_token) : "";
  text += action.seconds > 0 ? ' ' + std::to_string(action.seconds) : "";
  return text;
}

std::string to_text(const FaultText& fault) {
  if (fault.is_of_strace) {
    const CallRange calls = fault.site.calls.value_or(CallRange{});
    const bool has_end =
        calls.last != CallRange::no_end && fault.action.kind != FaultKind::fail_always;
    const std::string end = !has_end                    ? "+"
                            : calls.last == calls.first ? ""
                                                        : ".." + std::to_string(calls.last);
    return std::string(fault.site.call) +
           (is_kill(fault.action.kind) ? ":signal=KILL"
                                       : ":error=" + name_of_error(fault.action.error)) +
           ":when=" + std::to_string(calls.first) + end;
  }
  return to_text(fault.site) + ' ' + to_text(fault.action);
}

}  // namespace lastref::harness
