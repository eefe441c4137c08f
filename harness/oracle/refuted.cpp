// refuted: the findings of the scenario itself.
#include "harness/oracle/registered_oracle.hpp"

namespace lastref::harness::oracle {
namespace {

/// The findings of the scenario itself.
Judgement refuted(const Evidence& evidence) {
  Judgement judgement;
  bool expects_seen = false;
  for (const Record& record : evidence.records) {
    // A role that ended by itself has made its checks.
    if (is_fact(record, fact::died) && record.text == fact::ended && !is_tracker(record)) {
      ++judgement.look.seen;
      ++judgement.look.filled;
    }
    if (is_fact(record, fact::refuted)) {
      judgement.findings.push_back({.claim = std::string(record.text.view()), .seen = {}});
      expects_seen = true;
    } else if (is_fact(record, fact::seen) && expects_seen) {
      judgement.findings.back().seen = record.text.view();
      expects_seen = false;
    }
  }
  return judgement;
}

const RegisteredOracle registered_refuted("refuted", Concern::scenario, refuted);

}  // namespace
}  // namespace lastref::harness::oracle
