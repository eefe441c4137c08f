#include "impl/array/python_literal.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "impl/array/utf8.hpp"

namespace lastref::array {
namespace {

bool is_digit(char letter) noexcept {
  return letter >= '0' && letter <= '9';
}

bool is_of_identifier(char letter) noexcept {
  return is_digit(letter) || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         letter == '_';
}

std::optional<std::uint32_t> value_of(char digit, std::uint32_t base) noexcept {
  std::uint32_t value = base;
  if (is_digit(digit)) {
    value = static_cast<std::uint32_t>(digit - '0');
  } else if (digit >= 'a' && digit <= 'f') {
    value = static_cast<std::uint32_t>(digit - 'a') + 10;
  } else if (digit >= 'A' && digit <= 'F') {
    value = static_cast<std::uint32_t>(digit - 'A') + 10;
  }
  return value < base ? std::optional(value) : std::nullopt;
}

class Parser {
 public:
  explicit Parser(std::string_view text) noexcept : rest_(text) {}

  Result<Literal> parse() {
    LASTREF_TRY(literal, any(0));
    skip_space();
    if (!rest_.empty()) {
      return malformed("there is text after the literal");
    }
    return literal;
  }

 private:
  void skip_space() noexcept {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n\f"), rest_.size()));
  }

  bool next_is(char letter) noexcept {
    skip_space();
    return rest_.starts_with(letter);
  }

  bool take(char letter) noexcept {
    const bool there = next_is(letter);
    rest_.remove_prefix(there ? 1 : 0);
    return there;
  }

  Result<Literal> any(int depth) {
    skip_space();
    if (rest_.empty()) {
      return malformed("a literal is missing");
    }
    const std::string_view from = rest_;
    Result<Literal> parsed = of_its_kind(depth);
    if (parsed) {
      parsed->source = from.substr(0, from.size() - rest_.size());
    }
    return parsed;
  }

  Result<Literal> of_its_kind(int depth) {
    switch (rest_.front()) {
      case '\'':
      case '"':
        return text();
      case '(':
        return bracketed(Literal::Kind::tuple, ')', depth + 1);
      case '[':
        return bracketed(Literal::Kind::list, ']', depth + 1);
      case '{':
        return bracketed(Literal::Kind::dict, '}', depth + 1);
      case '-':
        return number();
      default:
        return is_digit(rest_.front()) ? number() : identifier();
    }
  }

  Result<Literal> identifier() {
    const auto end = std::ranges::find_if_not(rest_, is_of_identifier);
    const std::string_view found = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(found.size());
    if (found == "None") {
      return Literal{};
    }
    if (found == "True" || found == "False") {
      Literal literal{.kind = Literal::Kind::boolean};
      literal.truth = found == "True";
      return literal;
    }
    return malformed("neither a string, a number nor a bracket");
  }

  Result<Literal> number() {
    Literal literal{.kind = Literal::Kind::number};
    literal.negative = take('-');
    if (literal.negative) {
      skip_space();
    }
    const auto end = std::ranges::find_if_not(rest_, is_digit);
    const std::string_view digits = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(digits.size());
    if (digits.empty() || (digits.size() > 1 && digits.front() == '0')) {
      return malformed("not a decimal number");
    }
    for (const char letter : digits) {
      const auto digit = static_cast<std::uint64_t>(letter - '0');
      constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
      if (literal.number > (most - digit) / 10) {
        return malformed("a number that is too large");
      }
      literal.number = literal.number * 10 + digit;
    }
    if (rest_.starts_with('L')) {  // Python 2 wrote long numbers this way.
      rest_.remove_prefix(1);
    }
    if (!rest_.empty() && (is_of_identifier(rest_.front()) || rest_.front() == '.')) {
      return malformed("not a decimal number");
    }
    return literal;
  }

  /// Reads the `digits` digits of a character's number from the front of the remaining text.
  bool take_character(std::string& text, std::size_t digits, std::uint32_t base) {
    std::uint32_t character = 0;
    for (std::size_t count = 0; count < digits; ++count) {
      const auto digit = rest_.empty() ? std::nullopt : value_of(rest_.front(), base);
      if (!digit) {
        return false;
      }
      rest_.remove_prefix(1);
      character = character * base + *digit;
    }
    if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000)) {
      return false;
    }
    append_utf8(text, character);
    return true;
  }

  /// Reads what follows a backslash.
  bool take_escape(std::string& text) {
    if (rest_.empty()) {
      return false;
    }
    const char letter = rest_.front();
    if (value_of(letter, 8)) {
      const auto end =
          std::find_if_not(rest_.begin(),
                           rest_.begin() + std::min<std::ptrdiff_t>(3, std::ssize(rest_)),
                           [](char each) { return value_of(each, 8).has_value(); });
      return take_character(text, static_cast<std::size_t>(end - rest_.begin()), 8);
    }
    rest_.remove_prefix(1);
    switch (letter) {
      case 'x':
        return take_character(text, 2, 16);
      case 'u':
        return take_character(text, 4, 16);
      case 'U':
        return take_character(text, 8, 16);
      default:
        break;
    }
    constexpr std::string_view letters = "\\'\"abfnrtv";
    constexpr std::string_view meanings = "\\'\"\a\b\f\n\r\t\v";
    const std::size_t at = letters.find(letter);
    if (at == std::string_view::npos) {
      return false;
    }
    text += meanings[at];
    return true;
  }

  Result<Literal> text() {
    Literal literal{.kind = Literal::Kind::text};
    const char quote = rest_.front();
    rest_.remove_prefix(1);
    for (;;) {
      if (rest_.empty()) {
        return malformed("a string without end");
      }
      const char letter = rest_.front();
      rest_.remove_prefix(1);
      if (letter == quote) {
        return literal;
      }
      if (static_cast<unsigned char>(letter) < 0x20) {
        return malformed("a control character in a string");
      }
      if (letter != '\\') {
        literal.text += letter;
      } else if (!take_escape(literal.text)) {
        return malformed("an impossible escape");
      }
    }
  }

  Result<Literal> bracketed(Literal::Kind kind, char close, int depth) {
    if (depth > literal_depth_max) {
      return malformed("brackets in brackets, too deep");
    }
    rest_.remove_prefix(1);
    Literal literal{.kind = kind};
    bool comma = true;
    while (!take(close)) {
      if (!comma) {
        return malformed("a comma is missing");
      }
      LASTREF_TRY(item, any(depth));
      literal.items.push_back(std::move(item));
      if (kind == Literal::Kind::dict) {
        if (!take(':')) {
          return malformed("a colon is missing");
        }
        LASTREF_TRY(value, any(depth));
        literal.items.push_back(std::move(value));
      }
      comma = take(',');
    }
    if (kind == Literal::Kind::tuple && literal.items.size() == 1 && !comma) {
      return Literal(std::move(literal.items.front()));  // Brackets around one item are no tuple.
    }
    return literal;
  }

  std::string_view rest_;
};

}  // namespace

Result<Literal> parse_literal(std::string_view text) {
  if (!is_utf8(text)) {
    return malformed("not UTF-8");
  }
  return Parser(text).parse();
}

}  // namespace lastref::array
