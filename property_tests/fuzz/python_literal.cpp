// python_literal: the literals in which dtypes and .npy headers are written.
#include "impl/array/python_literal.hpp"

#include "impl/array/utf8.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

using array::Literal;
using Kind = Literal::Kind;

bool equal(const Literal& one, const Literal& other) {
  if (one.kind != other.kind || one.truth != other.truth || one.negative != other.negative ||
      one.number != other.number || one.text != other.text ||
      one.items.size() != other.items.size()) {
    return false;
  }
  for (std::size_t i = 0; i < one.items.size(); ++i) {
    if (!equal(one.items[i], other.items[i])) {
      return false;
    }
  }
  return true;
}

std::string quoted(std::string_view text) {
  std::string written = "'";
  for (const char letter : text) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x20 || letter == '\'' || letter == '\\') {
      written += {'\\', 'x', digits[byte / 16U], digits[byte % 16U]};
    } else {
      written += letter;
    }
  }
  return written + '\'';
}

std::string to_text(const Literal& literal);

std::string items_of(const Literal& literal) {
  std::string text;
  for (std::size_t i = 0; i < literal.items.size(); ++i) {
    const bool is_key = literal.kind == Kind::dict && i % 2 == 0;
    text += to_text(literal.items[i]) + (is_key ? ": " : ", ");
  }
  return text;
}

std::string to_text(const Literal& literal) {
  switch (literal.kind) {
    case Kind::none:
      return "None";
    case Kind::boolean:
      return literal.truth ? "True" : "False";
    case Kind::number:
      return (literal.negative ? "-" : "") + std::to_string(literal.number);
    case Kind::text:
      return quoted(literal.text);
    case Kind::tuple:
      return '(' + items_of(literal) + ')';
    case Kind::list:
      return '[' + items_of(literal) + ']';
    case Kind::dict:
      return '{' + items_of(literal) + '}';
  }
  LASTREF_ASSERT(false);
}

/// Every part parses as itself, and has only valid contents.
void expect_sound(const Literal& literal, int depth) {
  expect(depth <= array::literal_depth_max, "brackets in brackets have an end");
  expect(array::is_utf8(literal.text), "a string is UTF-8");
  expect(literal.kind != Kind::dict || literal.items.size() % 2 == 0, "a key has a value");
  for (const Literal& item : literal.items) {
    expect_sound(item, depth + 1);
  }
}

}  // namespace

void check(os::Bytes input) {
  // A literal of one byte, such as a number, is an item of some hundred bytes.
  const auto literal = [&] {
    const Allowance allowance(input.size(), 4 * sizeof(Literal));
    return array::parse_literal(text_of(input));
  }();
  if (!literal) {
    expect_refused(literal.error(), std::errc::bad_message);
    return;
  }
  expect_sound(*literal, 0);
  const std::string written = to_text(*literal);
  const auto again = array::parse_literal(written);
  expect(again.has_value(), "what was read can be written");
  expect(equal(*again, *literal), "what was written says the same");
  const auto alone = array::parse_literal(literal->source);
  expect(alone.has_value(), "a literal reads from its own source");
  expect(equal(*alone, *literal), "a literal is what its source says");
}

}  // namespace lastref::fuzz
