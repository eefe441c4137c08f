// suite: the file of a suite.
#include "harness/cli/suite.hpp"

#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {

void check(os::Bytes input) {
  const auto suite = harness::parse_suite(text_of(input), "suite");
  if (!suite) {
    expect(suite.error().subject.starts_with("suite:"), "an error says in which file");
    return;
  }
  expect(!suite->stories.empty(), "a suite has stories");
  for (const harness::Story& each : suite->stories) {
    expect(!each.options.command.empty(), "a story has a command");
    expect(each.options.sweep, "a story is swept");
    expect(each.options.files.json.empty() && each.options.suite.empty() && !each.options.doctor,
           "a story has no options of a whole run");
  }
  for (const harness::KnownFinding& each : suite->known) {
    expect(!each.fingerprint.empty() && !each.reason.empty(), "what is known is described");
  }
}

}  // namespace lastref::fuzz
