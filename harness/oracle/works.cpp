// works: without faults that have a visible effect every operation of the product does what it
// promises, and every role ends without an error. Where time limits end early, an operation may
// report that its time was over, and nothing else.
#include <algorithm>
#include <cerrno>

#include "harness/oracle/benign.hpp"
#include "harness/oracle/registered_oracle.hpp"
#include "harness/platform/names.hpp"

namespace lastref::harness::oracle {
namespace {

/// In an undisturbed run in the default order every operation does what it promises, except those
/// that the scenario expects to fail, and every role ends without an error. Without this oracle a
/// scenario that stops at its first error would silently test nothing.
Judgement works(const Evidence& evidence) {
  Judgement judgement;
  // In another order an operation may be too late, which is not wrong.
  const bool is_late = is_late_at_most(evidence);
  if (!is_unnoticed(evidence) && !is_late) {
    return waived(Waiver::has_fault);
  }
  if (changes_order(evidence.plan)) {
    return waived(Waiver::has_order);
  }
  for (const Record& record : evidence.notable()) {
    if (record.kind == RecordKind::operation_end) {
      ++judgement.look.seen;
      ++judgement.look.filled;
    }
    const bool failed = record.kind == RecordKind::operation_end && record.error != 0 &&
                        !(is_late && record.error == ETIMEDOUT);
    const auto& failing = evidence.scenario.failing_operations;
    if (failed && std::ranges::find(failing, record.name.view()) == failing.end()) {
      judgement.findings.push_back(
          {.claim = "works: without an error, every operation does what it promises",
           .seen = std::string(record.role.view()) + ' ' + std::string(record.name.view()) + ' ' +
                   std::string(record.text.view()) + " = " + name_of_error(record.error)});
    }
    // The body of a role checks the failures that it expects.
    if (is_fact(record, fact::failed) && !is_late) {
      judgement.findings.push_back(
          {.claim = "works: without a fault, every role ends without an error",
           .seen = std::string(record.role.view()) + ": " + std::string(record.text.view())});
    }
  }
  return judgement;
}

const RegisteredOracle registered_works("works", Concern::conduct, works);

}  // namespace
}  // namespace lastref::harness::oracle
