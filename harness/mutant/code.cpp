#include "harness/mutant/code.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

namespace lastref::harness {
namespace {

constexpr std::string_view space = " \t\r\n";

/// Longer ones first. Two > are two tokens, because they may close two template lists.
constexpr std::array<std::string_view, 24> long_marks = {
    "<=>", "...", "->*", "<<=", "::", "->", "++", "--", "<=", ">=", "==", "!=",
    "&&",  "||",  "+=",  "-=",  "*=", "/=", "%=", "|=", "&=", "^=", "<<", ".*"};

constexpr std::array<std::string_view, 8> before_body = {
    "else", "do", "const", "noexcept", "override", "mutable", "try", "final"};

constexpr std::array<std::string_view, 10> control = {
    "if", "for", "while", "do", "switch", "else", "case", "default", "try", "catch"};

/// Other first tokens of statements that have no effect which could be left out.
constexpr std::array<std::string_view, 25> no_action = {
    "return",        "break",    "continue",       "goto",       "using",  "typedef", "throw",
    "static_assert", "template", "namespace",      "auto",       "const",  "static",  "constexpr",
    "struct",        "class",    "enum",           "union",      "friend", "public",  "private",
    "protected",     "delete",   "LASTREF_TRY_AS", "LASTREF_TRY"};

/// A statement that contains one of these concerns our own mistakes, or reports to a probe.
constexpr std::array<std::string_view, 3> tells_only = {"LASTREF_ASSERT", "report_quietly", "hit"};

bool is_one_of(std::string_view text, std::span<const std::string_view> texts) noexcept {
  return std::ranges::find(texts, text) != texts.end();
}

bool is_letter(char byte) noexcept {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

bool is_digit(char byte) noexcept {
  return byte >= '0' && byte <= '9';
}

/// Splits a source into tokens, from beginning to end.
class Lexer {
 public:
  Lexer(std::string_view source, Directives directives)
      : source_(source), has_directives_(directives == Directives::are_tokens) {}

  std::vector<Token> all() {
    for (skip(); at_ < source_.size(); skip()) {
      take();
    }
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return source_.substr(at_); }

  void skip_past(std::string_view end) {
    const std::size_t found = source_.find(end, at_);
    at_ = found == std::string_view::npos ? source_.size() : found + end.size();
  }

  /// Skips space and comments; preprocessor lines with their continuations, too, if they are left
  /// out.
  void skip() {
    for (std::size_t before = source_.size(); before != at_ && at_ < source_.size();) {
      before = at_;
      at_ = std::min(source_.find_first_not_of(space, at_), source_.size());
      if (rest().starts_with("//")) {
        skip_past("\n");
      } else if (rest().starts_with("/*")) {
        skip_past("*/");
      } else if (rest().starts_with("#") && !has_directives_) {
        do {
          skip_past("\n");
        } while (at_ < source_.size() && source_.substr(0, at_).ends_with("\\\n"));
      }
    }
  }

  void add(Token::Kind kind, std::size_t end) {
    tokens_.push_back({kind, at_, source_.substr(at_, end - at_)});
    at_ = end;
  }

  void take() {
    const char byte = source_[at_];
    if (is_raw()) {
      add(Token::Kind::text, end_of_raw());
    } else if (byte == '"' || byte == '\'') {
      add(Token::Kind::text, end_of_text(byte));
    } else if (is_letter(byte)) {
      add(Token::Kind::word, end_of([](char each) { return is_letter(each) || is_digit(each); }));
    } else if (is_digit(byte)) {
      add(Token::Kind::number, end_of([](char each) {
            return is_letter(each) || is_digit(each) || each == '.' || each == '\'';
          }));
    } else {
      const auto* const mark = std::ranges::find_if(
          long_marks, [this](std::string_view each) { return rest().starts_with(each); });
      add(Token::Kind::mark, at_ + (mark == long_marks.end() ? 1 : mark->size()));
    }
  }

  template <typename Belongs>
  std::size_t end_of(Belongs belongs) const {
    std::size_t end = at_ + 1;
    while (end < source_.size() && belongs(source_[end])) {
      ++end;
    }
    return end;
  }

  bool is_raw() const { return rest().starts_with("R\""); }

  std::size_t end_of_raw() const {
    const std::size_t open = std::min(source_.find('(', at_), source_.size() - 1);
    const std::string close = ")" + std::string(source_.substr(at_ + 2, open - at_ - 2)) + "\"";
    const std::size_t found = source_.find(close, open);
    return found == std::string_view::npos ? source_.size() : found + close.size();
  }

  std::size_t end_of_text(char quote) const {
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote && source_[end] != '\n') {
      end += source_[end] == '\\' ? 2U : 1U;
    }
    return std::min(end + 1, source_.size());
  }

  std::string_view source_;
  bool has_directives_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
};

/// Finds the bodies, and the statements in them.
class Walk {
 public:
  explicit Walk(std::string_view source) { code_.tokens = tokens_of(source); }

  Code all() {
    for (at_ = 0; at_ < code_.tokens.size(); ++at_) {
      step(text(at_));
      code_.is_run.push_back(scopes_.back().is_body || is_in_constant());
    }
    return std::move(code_);
  }

 private:
  struct Scope {
    bool is_body = false;
    bool ends_statement = false;  ///< Its closing brace ends the statement begun before it.
    int open = 0;                 ///< Open brackets in the statement
    std::size_t start = 0;        ///< Its first token
    std::size_t block = 0;
    Returns returns = Returns::unknown;
  };

  std::string_view text(std::size_t index) const { return code_.tokens[index].text; }
  bool is_begun() const { return scopes_.back().start < at_; }
  std::string_view first() const { return is_begun() ? text(scopes_.back().start) : ""; }

  void step(std::string_view token) {
    Scope& top = scopes_.back();
    if (token == "(" || token == "[") {
      ++top.open;
    } else if (token == ")" || token == "]") {
      top.open -= top.open > 0 ? 1 : 0;
    } else if (token == "{") {
      open_brace();
    } else if (token == "}") {
      close_brace();
    } else if (token == ";" && top.open == 0) {
      if (top.is_body && is_begun()) {
        code_.statements.push_back({top.start, at_, top.block, top.returns});
      }
      top.start = at_ + 1;
    } else if (token == ":" && top.open == 0 && is_label(first())) {
      top.start = at_ + 1;
    }
  }

  static bool is_label(std::string_view word) {
    return word == "case" || word == "default" || word == "public" || word == "private" ||
           word == "protected";
  }

  void open_brace() {
    const Scope& top = scopes_.back();
    const bool body = opens_body();
    Scope scope{.is_body = body,
                .ends_statement = top.open == 0 && (!is_begun() || is_one_of(first(), control) ||
                                                    (!top.is_body && body) || is_space()),
                .open = 0,
                .start = at_ + 1,
                .block = ++blocks_,
                .returns = returns_of(body)};
    scopes_.push_back(scope);
  }

  void close_brace() {
    if (scopes_.size() == 1) {
      return;
    }
    const bool ends = scopes_.back().ends_statement;
    scopes_.pop_back();
    if (ends) {
      scopes_.back().start = at_ + 1;
    }
  }

  /// A namespace: no semicolon follows its brace.
  bool is_space() const { return first() == "namespace" || first() == "extern"; }

  bool opens_body() const {
    const Scope& top = scopes_.back();
    if (!is_begun()) {
      return top.is_body;  // A block of its own.
    }
    const std::string_view before = text(at_ - 1);
    if (before == "final") {
      return at_ > 1 && !is_letter(text(at_ - 2).front());
    }
    if (before == ")" || before == "]" || is_one_of(before, before_body)) {
      return true;
    }
    const bool follows_members = before == "}" && !top.is_body && top.open == 0;
    return follows_members || follows_type();
  }

  /// Whether the preceding tokens are "-> Type".
  bool follows_type() const {
    for (std::size_t back = at_; back > scopes_.back().start; --back) {
      const Token& token = code_.tokens[back - 1];
      if (token.text == "->") {
        return back > 1 && (text(back - 2) == ")" || is_letter(text(back - 2).front()));
      }
      const bool belongs = token.kind == Token::Kind::word || token.text == "::" ||
                           token.text == "<" || token.text == ">" || token.text == "*" ||
                           token.text == "&" || token.text == ",";
      if (!belongs) {
        return false;
      }
    }
    return false;
  }

  /// For the body that begins here: what its function returns, or the one around it.
  Returns returns_of(bool body) const {
    const Scope& top = scopes_.back();
    if (top.is_body) {
      const bool same = !is_begun() || (top.open == 0 && is_one_of(first(), control));
      return same ? top.returns : Returns::unknown;
    }
    if (!body) {
      return Returns::unknown;
    }
    for (std::size_t i = top.start; i < at_ && text(i) != "("; ++i) {
      if (text(i) == "void") {
        return Returns::nothing;
      }
    }
    return Returns::something;
  }

  bool is_in_constant() const {
    const std::size_t start = scopes_.back().start;
    return !scopes_.back().is_body && start < at_ &&
           (text(start) == "constexpr" || (start + 1 < at_ && text(start + 1) == "constexpr"));
  }

  Code code_;
  std::size_t at_ = 0;
  std::size_t blocks_ = 0;
  std::vector<Scope> scopes_ = {Scope{}};
};

/// The token after a qualified name, "std::vector<int>::iterator&"; `first` if there is none.
std::size_t end_of_type(const std::vector<Token>& tokens, std::size_t first, std::size_t last) {
  std::size_t at = first;
  while (at < last && tokens[at].kind == Token::Kind::word) {
    ++at;
    if (tokens[at].text == "<") {
      int depth = 0;
      do {
        depth += tokens[at].text == "<" ? 1 : tokens[at].text == ">" ? -1 : 0;
        ++at;
      } while (at < last && depth > 0);
    }
    if (tokens[at].text != "::") {
      break;
    }
    ++at;
  }
  while (at < last && (tokens[at].text == "&" || tokens[at].text == "*" ||
                       tokens[at].text == "&&" || tokens[at].text == "const")) {
    ++at;
  }
  return at;
}

}  // namespace

std::vector<Token> tokens_of(std::string_view source, Directives directives) {
  return Lexer(source, directives).all();
}

Code code_of(std::string_view source) {
  return Walk(source).all();
}

std::size_t closing(const std::vector<Token>& tokens, std::size_t open) noexcept {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    const std::string_view text = tokens[i].text;
    depth += text == "(" || text == "[" || text == "{" ? 1 : 0;
    depth -= text == ")" || text == "]" || text == "}" ? 1 : 0;
    if (depth == 0) {
      return i;
    }
  }
  return tokens.size();
}

bool is_action(const Code& code, const Statement& statement) noexcept {
  const std::vector<Token>& tokens = code.tokens;
  const std::string_view first = tokens[statement.first].text;
  if (first == ";" || is_one_of(first, control) || is_one_of(first, no_action)) {
    return false;
  }
  for (std::size_t i = statement.first; i < statement.last; ++i) {
    if (is_one_of(tokens[i].text, tells_only)) {
      return false;
    }
  }
  const std::size_t after_type = end_of_type(tokens, statement.first, statement.last);
  const bool declares =
      after_type > statement.first && tokens[after_type].kind == Token::Kind::word;
  return !declares;
}

}  // namespace lastref::harness
