// scenario_name: patterns for scenarios, and the suggestions for a wrong name.
//
// The input has a pattern, a name, and another name in each line that follows.
#include <algorithm>
#include <array>
#include <bitset>
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
  bool is_any_text = false;
  std::bitset<256> bytes = {};  ///< Those that it stands for

  void add(char first, char last) {
    const auto end = static_cast<unsigned char>(last);
    for (std::size_t byte = static_cast<unsigned char>(first); byte <= end; ++byte) {
      bytes.set(byte);
    }
  }
  bool fits(char byte) const { return bytes[static_cast<unsigned char>(byte)]; }
};

/// Without quotes: each byte, and whether one was before it.
std::vector<std::pair<char, bool>> unquoted(std::string_view pattern) {
  std::vector<std::pair<char, bool>> bytes;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const bool is_quoted = pattern[at] == '\\' && at + 1 < pattern.size();
    at += is_quoted ? 1 : 0;
    bytes.emplace_back(pattern[at], is_quoted);
  }
  return bytes;
}

std::vector<Sign> signs_of(std::string_view pattern) {
  const auto bytes = unquoted(pattern);
  const auto is_sign = [&](std::size_t at, char sign) {
    return at < bytes.size() && bytes[at] == std::pair(sign, false);
  };
  std::vector<Sign> signs;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    Sign& sign = signs.emplace_back();
    const bool is_negated = is_sign(at + 1, '!') || is_sign(at + 1, '^');
    const std::size_t from = at + (is_negated ? 2 : 1);
    std::size_t end = from + 1;
    while (end < bytes.size() && !is_sign(end, ']')) {
      ++end;
    }
    if (is_sign(at, '*')) {
      sign.is_any_text = true;
    } else if (is_sign(at, '?')) {
      sign.bytes.set();
    } else if (is_sign(at, '[') && is_sign(end, ']')) {
      for (at = from; at < end; ++at) {
        const bool is_range = is_sign(at + 1, '-') && at + 2 < end;
        sign.add(bytes[at].first, bytes[at + (is_range ? 2 : 0)].first);
        at += is_range ? 2 : 0;
      }
      sign.bytes = is_negated ? ~sign.bytes : sign.bytes;
    } else {
      sign.add(bytes[at].first, bytes[at].first);
    }
  }
  return signs;
}

/// The same by a table: what each prefix of the pattern matches, byte by byte of the name.
bool matches_by_table(std::string_view pattern, std::string_view name) {
  const std::vector<Sign> signs = signs_of(pattern);
  std::array<bool, input_size_most + 1> row{true};
  for (std::size_t at = 0; at < signs.size(); ++at) {
    row[at + 1] = row[at] && signs[at].is_any_text;
  }
  for (const char byte : name) {
    bool before = std::exchange(row[0], false);
    for (std::size_t at = 0; at < signs.size(); ++at) {
      const bool here = std::exchange(before, row[at + 1]);
      row[at + 1] = signs[at].is_any_text ? row[at] || before : here && signs[at].fits(byte);
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
