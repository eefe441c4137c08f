#include "harness/history/history_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

#include <lastref/error.hpp>

namespace lastref::harness::oracle {
namespace {

constexpr std::string_view refusals_token = "refusals";
constexpr std::string_view value_start = "0x";

/// In the order of their enumerators.
constexpr std::array<std::string_view, 3> kind_tokens = {"get", "put", "freeze"};
constexpr std::array<std::string_view, 3> refusals_tokens = {
    "when_frozen", "at_a_limit", "at_any_time"};

template <typename Enumeration, std::size_t count>
std::optional<Enumeration> parse_token(std::string_view token,
                                       const std::array<std::string_view, count>& tokens) {
  const auto found = std::ranges::find(tokens, token);
  if (found == tokens.end()) {
    return std::nullopt;
  }
  return static_cast<Enumeration>(found - tokens.begin());
}

std::string text_of(std::uint64_t number, int base) {
  std::array<char, 20> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number, base);
  return {digits.data(), written.ptr};
}

/// Parses all of `text`, which must be only digits: no sign, no blank, and only lower-case hex
/// digits.
std::optional<std::uint64_t> parse_number(std::string_view text, int base) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, wrong] = std::from_chars(text.data(), end, number, base);
  const bool has_capitals = text.find_first_of("ABCDEF") != std::string_view::npos;
  if (wrong != std::errc{} || stop != end || has_capitals) {
    return std::nullopt;
  }
  return number;
}

std::optional<std::uint64_t> parse_value(std::string_view text) {
  if (!text.starts_with(value_start)) {
    return std::nullopt;
  }
  return parse_number(text.substr(value_start.size()), 16);
}

/// "error", "nothing", "0xaa", "true", "false"
std::string text_of_ending(const Operation& operation) {
  switch (operation.ending) {
    case Ending::pending:
      return {};
    case Ending::failed:
      return "error";
    case Ending::nothing:
      return "nothing";
    case Ending::value:
      return "0x" + text_of(operation.value, 16);
    case Ending::yes:
      return "true";
    case Ending::no:
      return "false";
  }
  LASTREF_ASSERT(false);
}

/// The ending that the token means, whatever the kind of operation; stores the value of a get in
/// `into`.
std::optional<Ending> parse_ending(std::string_view token, Operation& into) {
  if (token == "error") {
    return Ending::failed;
  }
  if (token == "nothing") {
    return Ending::nothing;
  }
  if (token == "true") {
    return Ending::yes;
  }
  if (token == "false") {
    return Ending::no;
  }
  const auto value = parse_value(token);
  if (!value || into.kind != OperationKind::get) {
    return std::nullopt;
  }
  into.value = *value;
  return Ending::value;
}

/// Removes and returns the first token; tokens are separated by one space.
std::string_view next_token(std::string_view& text) noexcept {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view token = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return token;
}

class HistoryReader {
 public:
  /// Reads the next line, without its end; returns the mistake in it, if there is one.
  std::optional<Mistake> read(std::string_view line) {
    if (line.empty() || line.starts_with('#')) {
      return std::nullopt;
    }
    if (line.starts_with('[')) {
      return read_operation(line);
    }
    if (next_token(line) != refusals_token) {
      return Mistake::no_moments;
    }
    if (has_begun_) {
      return Mistake::late_refusals;
    }
    has_begun_ = true;
    const auto refusals = parse_token<Refusals>(line, refusals_tokens);
    history_.refusals = refusals.value_or(Refusals{});
    return refusals ? std::nullopt : std::optional(Mistake::no_refusals);
  }

  History take() { return std::move(history_); }

 private:
  std::optional<Mistake> read_operation(std::string_view line) {
    has_begun_ = true;
    Operation operation;
    const std::string_view moments = next_token(line);
    if (!parse_moments(moments, operation)) {
      return Mistake::no_moments;
    }
    if (operation.invoked > operation.returned) {
      return Mistake::moments_reversed;
    }
    const std::string_view actor = next_token(line);
    if (!is_name_of_actor(actor)) {
      return Mistake::no_actor;
    }
    const auto kind = parse_token<OperationKind>(next_token(line), kind_tokens);
    if (!kind) {
      return Mistake::no_kind;
    }
    operation.kind = *kind;
    if (const auto wrong = read_arguments(line, operation)) {
      return wrong;
    }
    if (const auto wrong = read_ending(line, operation)) {
      return wrong;
    }
    operation.actor = index_of(actor);
    history_.operations.push_back(operation);
    return std::nullopt;
  }

  /// "[1..2]" or "[1..]". The highest moment is `never`, and no valid moment.
  static bool parse_moments(std::string_view token, Operation& into) {
    const std::size_t dots = token.find("..");
    if (!token.ends_with(']') || dots == std::string_view::npos) {
      return false;
    }
    const std::string_view until = token.substr(dots + 2, token.size() - dots - 3);
    const auto invoked = parse_number(token.substr(1, dots - 1), 10);
    const auto returned = until.empty() ? never : parse_number(until, 10);
    if (!invoked || !returned || *invoked == never || (*returned == never && !until.empty())) {
      return false;
    }
    into.invoked = *invoked;
    into.returned = *returned;
    return true;
  }

  static std::optional<Mistake> read_arguments(std::string_view& line, Operation& into) {
    if (into.kind == OperationKind::freeze) {
      return std::nullopt;
    }
    const auto slot = parse_number(next_token(line), 10);
    if (!slot) {
      return Mistake::no_slot;
    }
    into.slot = *slot;
    if (into.kind == OperationKind::put) {
      const auto value = parse_value(next_token(line));
      if (!value) {
        return Mistake::no_value;
      }
      into.value = *value;
    }
    return std::nullopt;
  }

  /// "= true", or nothing.
  static std::optional<Mistake> read_ending(std::string_view line, Operation& into) {
    if (line.empty() && into.returned == never) {
      return std::nullopt;
    }
    if (next_token(line) != "=") {
      return into.returned == never ? Mistake::text_left_over : Mistake::no_ending;
    }
    const auto ending = parse_ending(next_token(line), into);
    into.ending = ending.value_or(Ending::pending);
    if (!ending || !is_sound(into)) {
      return Mistake::no_ending;
    }
    return line.empty() ? std::nullopt : std::optional(Mistake::text_left_over);
  }

  std::uint32_t index_of(std::string_view actor) {
    const auto [found, is_new] = actor_at_.try_emplace(
        std::string(actor), static_cast<std::uint32_t>(history_.actors.size()));
    if (is_new) {
      history_.actors.emplace_back(actor);
    }
    return found->second;
  }

  History history_;
  std::unordered_map<std::string, std::uint32_t> actor_at_;
  bool has_begun_ = false;
};

}  // namespace

std::string describe(const HistoryTextError& misreading) {
  return "line " + std::to_string(misreading.line) + " " + std::string(name_of(misreading.mistake));
}

bool is_name_of_actor(std::string_view name) noexcept {
  const bool is_token = std::ranges::none_of(
      name, [](char sign) { return static_cast<unsigned char>(sign) <= ' ' || sign == '\x7f'; });
  return is_token && !name.empty();
}

std::string to_text(const History& history) {
  std::string text(refusals_token);
  text += ' ';
  text += refusals_tokens[static_cast<std::size_t>(history.refusals)];
  text += '\n';
  for (const Operation& operation : history.operations) {
    LASTREF_ASSERT(is_sound(operation));
    const std::string& actor = history.actors.at(operation.actor);
    LASTREF_ASSERT(is_name_of_actor(actor));
    text += '[' + text_of(operation.invoked, 10) + "..";
    text += (operation.returned == never ? "" : text_of(operation.returned, 10)) + "] " + actor;
    text += ' ';
    text += kind_tokens[static_cast<std::size_t>(operation.kind)];
    if (operation.kind != OperationKind::freeze) {
      text += ' ' + text_of(operation.slot, 10);
    }
    if (operation.kind == OperationKind::put) {
      text += " 0x" + text_of(operation.value, 16);
    }
    if (operation.returned != never) {
      text += " = " + text_of_ending(operation);
    }
    text += '\n';
  }
  return text;
}

tl::expected<History, HistoryTextError> parse_history(std::string_view text) {
  HistoryReader reader;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const auto mistake = reader.read(text.substr(0, end))) {
      return tl::unexpected(HistoryTextError{.line = number, .mistake = *mistake});
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.take();
}

}  // namespace lastref::harness::oracle
