// refuted: the findings of the scenario itself, or of the commands that you give to lastref run.
#include "harness/oracle/registered_oracle.hpp"

namespace lastref::harness::oracle {
namespace {

/// The findings of the scenario itself.
Judgement refuted(const Evidence& evidence) {
  Judgement judgement;
  bool expects_seen = false;
  for (const Record& record : evidence.notable()) {
    // A role that ended by itself has made its checks.
    if (is_fact(record, fact::died) && record.text == fact::ended && !is_tracker(record)) {
      ++judgement.look.seen;
      ++judgement.look.filled;
    }
    if (is_fact(record, fact::refuted)) {
      judgement.findings.push_back({.claim = evidence.text_of(record), .seen = {}});
      expects_seen = true;
    } else if (is_fact(record, fact::seen) && expects_seen) {
      judgement.findings.back().seen = evidence.text_of(record);
      expects_seen = false;
    }
  }
  return judgement;
}

const RegisteredOracle registered_refuted("refuted", Concern::scenario, refuted, Judges::programs);

}  // namespace
}  // namespace lastref::harness::oracle
