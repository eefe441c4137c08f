// scenario_name: patterns for scenarios, and what a wrong name may have meant.
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

/// The same by a table: what each start of the pattern matches, sign by sign of the name.
bool matches_by_table(std::string_view pattern, std::string_view name) {
  std::array<bool, input_size_most + 1> row{true};
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    row[at + 1] = row[at] && pattern[at] == '*';
  }
  for (const char sign : name) {
    bool before = std::exchange(row[0], false);
    for (std::size_t at = 0; at < pattern.size(); ++at) {
      const bool here = std::exchange(before, row[at + 1]);
      row[at + 1] = pattern[at] == '*' ? row[at] || before
                                       : here && (pattern[at] == '?' || pattern[at] == sign);
    }
  }
  return row[pattern.size()];
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
