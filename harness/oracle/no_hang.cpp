// no-hang: every run ends.
#include <algorithm>
#include <span>

#include "harness/oracle/registered_oracle.hpp"
#include "harness/scenario/fault.hpp"

namespace lastref::harness::oracle {
namespace {

/// Whether a lock can never be given up, and something else fails as well. A process then closes a
/// descriptor of the file instead; if that fails, others wait until the process ends.
bool may_keep_a_lock(std::span<const Fault> faults) {
  return faults.size() > 1 && std::ranges::any_of(faults, [](const Fault& fault) {
           return fails_for_ever(fault, fault.site.role, name_of(Call::lock_range));
         });
}

/// The run ended by itself.
Judgement no_hang(const Evidence& evidence) {
  if (may_keep_a_lock(evidence.plan.faults)) {
    return waived(Waiver::two_faults);
  }
  Judgement judgement;
  judgement.look = {.seen = 1, .filled = evidence.records.empty() ? 0U : 1U};
  for (const Record& record : evidence.notable()) {
    if (is_fact(record, fact::hang)) {
      judgement.findings.push_back(
          {.claim = "no-hang: every run ends", .seen = evidence.text_of(record)});
    }
  }
  return judgement;
}

const RegisteredOracle registered_no_hang("no-hang", Concern::run, no_hang, Judges::programs);

}  // namespace
}  // namespace lastref::harness::oracle
