// no-crash: a process dies only of a planned kill.
#include "harness/oracle/registered_oracle.hpp"
#include "harness/platform/names.hpp"

namespace lastref::harness::oracle {
namespace {

/// A process dies only of planned faults.
Judgement no_crash(const Evidence& evidence) {
  Judgement judgement;
  for (const Record& record : evidence.notable()) {
    if (is_fact(record, fact::died)) {
      ++judgement.look.seen;
      ++judgement.look.filled;
    }
    if (is_fact(record, fact::died) && record.text == fact::crashed) {
      const std::string what = record.value > 0
                                   ? "died of SIG" + name_of_signal(static_cast<int>(record.value))
                                   : "exited by itself with " + std::to_string(-record.value);
      judgement.findings.push_back({.claim = "no-crash: a process dies only of a planned kill",
                                    .seen = std::string(record.role.view()) + ' ' + what});
    }
  }
  return judgement;
}

const RegisteredOracle registered_no_crash("no-crash", Concern::run, no_crash, Judges::programs);

}  // namespace
}  // namespace lastref::harness::oracle
