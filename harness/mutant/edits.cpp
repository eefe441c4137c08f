#include "harness/mutant/edits.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "harness/mutant/code.hpp"

namespace lastref::harness {
namespace {

constexpr std::array<std::string_view, operators_count> names = {"drop_statement",
                                                                 "swap_statements",
                                                                 "negate_condition",
                                                                 "off_by_one",
                                                                 "ignore_result",
                                                                 "drop_retry",
                                                                 "weaken_order",
                                                                 "return_early"};
constexpr std::size_t lines_around = 3;

/// Finds all edits of one source.
class Search {
 public:
  explicit Search(std::string_view source) : source_(source), code_(code_of(source)) {}

  std::vector<Edit> all() {
    drop_statements();
    swap_statements();
    each_token(&Search::negate_condition);
    each_token(&Search::off_by_one);
    ignore_results();
    each_token(&Search::drop_retry);
    each_token(&Search::weaken_order);
    return_early();
    return std::move(edits_);
  }

 private:
  const Token& token(std::size_t index) const { return code_.tokens[index]; }
  /// Empty after the last token.
  std::string_view text(std::size_t index) const {
    return index < code_.tokens.size() ? token(index).text : std::string_view();
  }
  std::size_t begin_of(const Statement& one) const { return token(one.first).begin; }
  std::size_t end_of(const Statement& one) const { return token(one.last).end(); }
  std::string text_of(std::size_t begin, std::size_t end) const {
    return std::string(source_.substr(begin, end - begin));
  }
  std::string text_of(const Statement& one) const { return text_of(begin_of(one), end_of(one)); }

  void add(Operator by, std::size_t begin, std::size_t end, std::string text) {
    edits_.push_back({by, begin, end, std::move(text)});
  }

  void each_token(void (Search::*look)(std::size_t)) {
    for (std::size_t i = 0; i < code_.tokens.size(); ++i) {
      if (code_.is_run[i]) {
        (this->*look)(i);
      }
    }
  }

  /// Removes whole lines if the statement has them for itself.
  void drop_statements() {
    for (const Statement& statement : code_.statements) {
      if (!is_action(code_, statement)) {
        continue;
      }
      const std::size_t before = source_.find_last_not_of(' ', begin_of(statement) - 1);
      const std::size_t end = end_of(statement);
      const bool alone = before != std::string_view::npos && source_[before] == '\n' &&
                         end < source_.size() && source_[end] == '\n';
      add(Operator::drop_statement,
          alone ? before + 1 : begin_of(statement),
          alone ? end + 1 : end,
          "");
    }
  }

  void swap_statements() {
    for (std::size_t i = 1; i < code_.statements.size(); ++i) {
      const Statement& one = code_.statements[i - 1];
      const Statement& other = code_.statements[i];
      const bool neighbours = one.block == other.block && one.last + 1 == other.first;
      if (neighbours && is_action(code_, one) && is_action(code_, other) &&
          text_of(one) != text_of(other)) {
        add(Operator::swap_statements,
            begin_of(one),
            end_of(other),
            text_of(other) + text_of(end_of(one), begin_of(other)) + text_of(one));
      }
    }
  }

  /// In "if (auto found = look(); found)" the condition follows the semicolon.
  void negate_condition(std::size_t i) {
    if (text(i) != "if" || text(i + 1) != "(") {
      return;
    }
    const std::size_t close = closing(code_.tokens, i + 1);
    std::size_t first = i + 2;
    for (std::size_t at = first; at < close; ++at) {
      const std::string_view here = text(at);
      if (here == "(" || here == "[" || here == "{") {
        at = closing(code_.tokens, at);
      } else if (here == ";") {
        first = at + 1;
      }
    }
    const bool declares = text(first) == "auto" || text(first) == "const";
    if (first < close && close < code_.tokens.size() && !declares) {
      const std::size_t begin = token(first).begin;
      const std::size_t end = token(close - 1).end();
      add(Operator::negate_condition, begin, end, "!(" + text_of(begin, end) + ")");
    }
  }

  void off_by_one(std::size_t i) {
    const Token& here = token(i);
    if (here.kind == Token::Kind::number) {
      if (const auto next = next_number(here.text)) {
        add(Operator::off_by_one, here.begin, here.end(), *next);
      }
      return;
    }
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> neighbours = {
        {{"<", "<="}, {"<=", "<"}, {">", ">="}, {">=", ">"}}};
    // Template lists have no spaces on both sides.
    const bool compares = here.begin > 0 && source_[here.begin - 1] == ' ' &&
                          here.end() < source_.size() && source_[here.end()] == ' ';
    for (const auto& [from, to] : neighbours) {
      if (compares && here.text == from && text(i - 1) != "template") {
        add(Operator::off_by_one, here.begin, here.end(), std::string(to));
      }
    }
  }

  /// A whole decimal number, with its type suffix.
  static std::optional<std::string> next_number(std::string_view text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number);
    const std::string_view suffix(at, static_cast<std::size_t>(end - at));
    const bool octal = text.size() > 1 && text.front() == '0';
    if (error != std::errc{} || octal || suffix.find_first_not_of("uUlLzZ") != suffix.npos) {
      return std::nullopt;
    }
    return fmt::format("{}{}", number + 1, suffix);
  }

  void ignore_results() {
    constexpr std::string_view checked = "LASTREF_CHECK";
    for (const Statement& statement : code_.statements) {
      if (text(statement.first) == checked) {
        const std::size_t begin = begin_of(statement);
        add(Operator::ignore_result, begin, begin + checked.size(), "static_cast<void>");
      }
    }
  }

  /// Calls once what would be retried.
  void drop_retry(std::size_t i) {
    if (text(i) != "retry_interrupted" || text(i + 1) != "(") {
      return;
    }
    const std::size_t close = closing(code_.tokens, i + 1);
    const bool qualified = i > 1 && text(i - 1) == "::";
    if (close < code_.tokens.size()) {
      const std::size_t end = token(close).end();
      add(Operator::drop_retry,
          token(qualified ? i - 2 : i).begin,
          end,
          text_of(token(i + 1).begin, end) + "()");
    }
  }

  void weaken_order(std::size_t i) {
    constexpr std::string_view order = "memory_order_";
    const Token& here = token(i);
    if (here.text.starts_with(order) && !here.text.ends_with("relaxed")) {
      add(Operator::weaken_order, here.begin, here.end(), std::string(order) + "relaxed");
    }
    if (here.text == "load" && text(i + 1) == "(" && text(i + 2) == ")") {
      const std::size_t at = token(i + 1).end();
      add(Operator::weaken_order, at, at, "std::memory_order_relaxed");
    }
  }

  /// Replaces a statement; the following ones are not reached.
  void return_early() {
    for (const Statement& statement : code_.statements) {
      if (is_action(code_, statement) && statement.returns != Returns::unknown) {
        add(Operator::return_early,
            begin_of(statement),
            end_of(statement),
            statement.returns == Returns::nothing ? "return;" : "return {};");
      }
    }
  }

  std::string_view source_;
  Code code_;
  std::vector<Edit> edits_;
};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

std::string with_sign(char sign, std::span<const std::string_view> lines) {
  std::string text;
  for (const std::string_view line : lines) {
    text += sign;
    text += line;
  }
  return text;
}

}  // namespace

std::string_view name_of(Operator by) noexcept {
  return names.at(static_cast<std::size_t>(by));
}

std::vector<Edit> edits_of(std::string_view source) {
  return Search(source).all();
}

std::string changed_by(const Edit& edit, std::string_view source) {
  return std::string(source.substr(0, edit.begin)) + edit.text +
         std::string(source.substr(edit.end));
}

std::string unified_diff(std::string_view path, std::string_view before, std::string_view after) {
  const std::vector<std::string_view> old = lines_of(before);
  const std::vector<std::string_view> fresh = lines_of(after);
  const std::size_t shorter = std::min(old.size(), fresh.size());
  std::size_t same = 0;
  while (same < shorter && old[same] == fresh[same]) {
    ++same;
  }
  std::size_t same_behind = 0;
  while (same_behind < shorter - same &&
         old[old.size() - 1 - same_behind] == fresh[fresh.size() - 1 - same_behind]) {
    ++same_behind;
  }
  const std::size_t above = std::min(same, lines_around);
  const std::size_t below = std::min(same_behind, lines_around);
  const std::size_t gone = old.size() - same - same_behind;
  const std::size_t come = fresh.size() - same - same_behind;
  const std::span lines(old);
  return fmt::format("--- a/{0}\n+++ b/{0}\n@@ -{1},{2} +{1},{3} @@\n",
                     path,
                     same - above + 1,
                     above + gone + below,
                     above + come + below) +
         with_sign(' ', lines.subspan(same - above, above)) +
         with_sign('-', lines.subspan(same, gone)) +
         with_sign('+', std::span(fresh).subspan(same, come)) +
         with_sign(' ', lines.subspan(same + gone, below));
}

}  // namespace lastref::harness
