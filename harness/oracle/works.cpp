// works: with nothing wrong, every operation of the product does what it says, and every role ends
// without an error.
#include <algorithm>

#include "harness/oracle/error_names.hpp"
#include "harness/oracle/oracles.hpp"

namespace lastref::harness::oracle {

std::vector<Finding> works(const Evidence& evidence) {
  std::vector<Finding> findings;
  // In another order somebody may be too late, which is nothing wrong.
  const Plan& plan = evidence.plan;
  if (!plan.faults.empty() || plan.seed || !plan.choices.empty()) {
    return findings;
  }
  for (const Record& record : evidence.records) {
    const bool failed = record.kind == RecordKind::operation_end && record.error != 0;
    const auto& failing = evidence.scenario.failing_operations;
    if (failed && std::ranges::find(failing, record.name.view()) == failing.end()) {
      findings.push_back(
          {.claim = "works: with nothing wrong, every operation does what it says",
           .seen = std::string(record.role.view()) + ' ' + std::string(record.name.view()) + ' ' +
                   std::string(record.text.view()) + " = " + name_of_error(record.error)});
    }
    // What is meant to fail is looked at by the body that means it.
    if (is_fact(record, fact::failed)) {
      findings.push_back(
          {.claim = "works: with nothing wrong, every role ends without an error",
           .seen = std::string(record.role.view()) + ": " + std::string(record.text.view())});
    }
  }
  return findings;
}

}  // namespace lastref::harness::oracle
