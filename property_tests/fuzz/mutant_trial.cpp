// mutant_trial: the output of the gate and ctest of a build with a planted bug, which may be
// anything.
#include <string>
#include <string_view>

#include "harness/mutant/trial.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

/// Written by hand, because the library takes long to compile. The input is UTF-8 already.
std::string quoted(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string json = "\"";
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x20 || letter == '"' || letter == '\\') {
      json += std::string("\\u00") + digits[byte / 16U] + digits[byte % 16U];
    } else {
      json += letter;
    }
  }
  return json + '"';
}

std::string to_report(const harness::Trial& trial) {
  return "{\"runs\": " + std::to_string(trial.runs) +
         ", \"violations\": [{\"scenario\": " + quoted(trial.scenario) +
         ", \"claim\": " + quoted(trial.claim) + ", \"seen\": " + quoted(trial.seen) +
         ", \"replay\": " + quoted(trial.replay) + "}]}";
}

void check_gate(os::Bytes input) {
  // A number of one byte becomes a node of a list, and an empty object one of a map.
  const auto trial = in_proportion(input, [&] { return harness::trial_of_gate(text_of(input)); });
  if (!trial) {
    return;
  }
  expect(trial->found(), "a gate that reports has found something");
  const auto again = harness::trial_of_gate(to_report(*trial));
  expect(again.has_value(), "what was read can be written");
  expect(again->runs == trial->runs, "runs arrive");
  expect(again->scenario == trial->scenario, "a scenario arrives");
  expect(again->claim == trial->claim, "a claim arrives");
  expect(again->seen == trial->seen, "what was seen arrives");
  expect(again->replay == trial->replay, "a command arrives");
}

void check_tests(os::Bytes input) {
  const auto names = in_proportion(input, [&] { return harness::failed_tests(text_of(input)); });
  std::string said = "The following tests FAILED:\n";
  for (const std::string& name : names) {
    expect(name.find('\n') == std::string::npos, "a name is in one line");
    said += "\t  1 - " + name + " (Failed)\n";
  }
  expect(harness::failed_tests(said) == names, "names that were read can be written");
}

}  // namespace

void check(os::Bytes input) {
  const int percent = harness::percent_built(text_of(input)).value_or(0);
  expect(percent >= 0 && percent <= 100, "a percentage");
  check_gate(input);
  check_tests(input);
}

}  // namespace lastref::fuzz
