// no-hang: every run ends.
#include "harness/oracle/registered_oracle.hpp"

namespace lastref::harness::oracle {
namespace {

/// The run ended by itself.
Judgement no_hang(const Evidence& evidence) {
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
