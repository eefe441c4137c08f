// mutant_patch: the header of a planted bug.
#include "harness/spec/mutant.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

std::string to_patch(const harness::Mutant& mutant) {
  std::string text =
      "Row: " + mutant.row + "\nOrigin: " + mutant.origin + "\nClaim: " + mutant.claim + "\n\n";
  for (const std::string& file : mutant.files) {
    text += "--- a/" + file + '\n';
  }
  return text;
}

bool equal(const harness::Mutant& one, const harness::Mutant& other) {
  return one.name == other.name && one.row == other.row && one.origin == other.origin &&
         one.claim == other.claim && one.files == other.files;
}

}  // namespace

void check(os::Bytes input) {
  const auto mutant =
      in_proportion(input, [&] { return harness::parse_mutant("a_name", text_of(input)); });
  if (!mutant) {
    expect_refused(mutant.error(), std::errc::invalid_argument);
    return;
  }
  for (const std::string& file : mutant->files) {
    expect(file.starts_with("impl/"), "a mutant changes the product alone");
    expect(file.find("..") == std::string::npos, "and nothing outside of it");
  }
  const auto again = harness::parse_mutant("a_name", to_patch(*mutant));
  expect(again.has_value(), "what was read can be written");
  expect(equal(*again, *mutant), "what was written says the same");
}

}  // namespace lastref::fuzz
