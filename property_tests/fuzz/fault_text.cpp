// fault_text: a fault as reports print it and --fault accepts it.
#include "harness/scenario/fault.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {

void check(os::Bytes input) {
  const auto read = in_proportion(input, [&] { return harness::parse_fault(text_of(input)); });
  if (!read) {
    return;
  }
  const harness::Fault& fault = *read;
  expect(!fault.site.role.empty(), "a fault has a role");
  expect(!fault.site.name.empty(), "a fault has a call or step");
  expect(fault.site.k > 0, "crossings are counted from 1");
  expect((fault.error != 0) == harness::takes_error(fault.kind), "what fails has an errno");
  const std::string text = harness::to_text(fault);
  const auto again = harness::parse_fault(text);
  expect(again.has_value(), "the text of a fault is one");
  expect(*again == fault, "a fault is what its text says");
}

}  // namespace lastref::fuzz
