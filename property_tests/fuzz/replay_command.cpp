// replay_command: the command at the end of a failure report, as a shell would parse it.
//
// The input has a scenario's name, the choices, and a fault in each line that follows.
#include <algorithm>
#include <iterator>
#include <vector>

#include "harness/choice/choices.hpp"
#include "harness/explore/plans.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

using Words = std::vector<std::string>;

std::string take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string line(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// The words that a POSIX shell would make; the command has only plain words and quotes.
Words words_of(std::string_view command) {
  Words words;
  bool within = false;
  bool quoted = false;
  for (std::size_t at = 0; at < command.size(); ++at) {
    const char letter = command[at];
    if (letter == '\'') {
      quoted = !quoted;
    } else if (letter == ' ' && !quoted) {
      within = false;
      continue;
    }
    if (!within) {
      words.emplace_back();
      within = true;
    }
    if (letter == '\\' && !quoted) {
      words.back() += command[++at];
    } else if (letter != '\'') {
      expect(quoted || std::string_view("$`\"*?[]{}()<>|&;!#~\n\t").find(letter) ==
                           std::string_view::npos,
             "a shell leaves plain words alone");
      words.back() += letter;
    }
  }
  expect(!quoted, "quotes are closed");
  return words;
}

/// The answers as they are stored: zeros at the end have no meaning.
std::vector<std::uint32_t> without_zeros(std::vector<std::uint32_t> answers) {
  while (!answers.empty() && answers.back() == 0) {
    answers.pop_back();
  }
  return answers;
}

}  // namespace

void check(os::Bytes input) {
  std::string_view text = text_of(input);
  if (text.find('\0') != std::string_view::npos) {
    return;  // No shell can express it.
  }
  const std::string scenario = take_line(text);
  const std::string answers = take_line(text);
  harness::Plan plan;
  if (const auto choices = in_proportion(input, [&] { return harness::parse_choices(answers); })) {
    plan.choices = without_zeros(*choices);
    const auto again = harness::parse_choices(harness::to_text(plan.choices));
    expect(again.has_value(), "the text of choices is one");
    expect(*again == plan.choices, "choices are what their text says");
  }
  while (!text.empty()) {
    if (auto fault = harness::parse_fault(take_line(text))) {
      plan.faults.push_back(*std::move(fault));
    }
  }
  Words expected = {"lastref", "replay", scenario};
  for (const harness::Fault& fault : plan.faults) {
    std::ranges::move(Words{"--fault", harness::to_text(fault)}, std::back_inserter(expected));
  }
  if (!plan.choices.empty()) {
    std::ranges::move(Words{"--choices", harness::to_text(plan.choices)},
                      std::back_inserter(expected));
  }
  std::ranges::move(Words{"--world", "sim"}, std::back_inserter(expected));
  expect(words_of(harness::replay_command(scenario, plan, "sim")) == expected,
         "a shell reads the command as it was meant");
}

}  // namespace lastref::fuzz
