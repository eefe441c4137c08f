// scenario_name: patterns for scenarios, and the suggestions for a wrong name.
//
// The input has a pattern, a name, and another name in each line that follows.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "harness/cli/names.hpp"
#include "harness/scenario/pattern.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

constexpr std::size_t suggestions_max = 3;
/// bytes; each letter of a pattern is compared with each of a name, and no length is special.
constexpr std::size_t input_size_most = 256;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t end = 0; end != std::string_view::npos; text.remove_prefix(end + 1)) {
    end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      break;
    }
  }
  return lines;
}

/// One character of a pattern.
struct Sign {
  enum class Kind { itself, any_one, any_text } kind = Kind::itself;
  char byte = 0;

  bool fits(char other) const { return kind == Kind::any_one || byte == other; }
};

std::vector<Sign> signs_of(std::string_view pattern) {
  std::vector<Sign> signs;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const bool escapes = pattern[at] == '\\' && at + 1 < pattern.size();
    at += escapes ? 1 : 0;
    Sign& sign = signs.emplace_back();
    sign.byte = pattern[at];
    if (!escapes && (pattern[at] == '*' || pattern[at] == '?')) {
      sign.kind = pattern[at] == '*' ? Sign::Kind::any_text : Sign::Kind::any_one;
    }
  }
  return signs;
}

/// The same by a table: what each prefix of the pattern matches, byte by byte of the name.
bool matches_by_table(std::string_view pattern, std::string_view name) {
  const std::vector<Sign> signs = signs_of(pattern);
  std::array<bool, input_size_most + 1> row{true};
  for (std::size_t at = 0; at < signs.size(); ++at) {
    row[at + 1] = row[at] && signs[at].kind == Sign::Kind::any_text;
  }
  for (const char byte : name) {
    bool before = std::exchange(row[0], false);
    for (std::size_t at = 0; at < signs.size(); ++at) {
      const bool here = std::exchange(before, row[at + 1]);
      row[at + 1] =
          signs[at].kind == Sign::Kind::any_text ? row[at] || before : here && signs[at].fits(byte);
    }
  }
  return row[signs.size()];
}

}  // namespace

void check(os::Bytes input) {
  if (input.size() > input_size_most) {
    return;
  }
  const std::vector<std::string> lines = lines_of(text_of(input));
  const std::string_view pattern = lines.front();
  for (const std::string& name : lines) {
    expect(harness::matches(pattern, name) == matches_by_table(pattern, name),
           "a pattern matches what it says");
  }
  const auto near = harness::nearest(lines.front(), lines);
  expect(near.size() <= suggestions_max, "three suggestions are enough");
  for (const std::string& name : near) {
    expect(std::ranges::find(lines, name) != lines.end(), "what is suggested is there");
  }
  expect(harness::suggestion(lines.front(), lines).empty() == near.empty(),
         "what is near is suggested");
}

}  // namespace lastref::fuzz
