// refuted: what the scenario itself found wrong.
#include "harness/oracle/oracles.hpp"

namespace lastref::harness::oracle {

Verdict refuted(const Evidence& evidence) {
  Verdict verdict;
  bool expects_seen = false;
  for (const Record& record : evidence.records) {
    // A role that came to its end has looked at what it wanted to.
    if (is_fact(record, fact::died) && record.text == fact::ended && !is_tracker(record)) {
      ++verdict.look.seen;
      ++verdict.look.filled;
    }
    if (is_fact(record, fact::refuted)) {
      verdict.findings.push_back({.claim = std::string(record.text.view()), .seen = {}});
      expects_seen = true;
    } else if (is_fact(record, fact::seen) && expects_seen) {
      verdict.findings.back().seen = record.text.view();
      expects_seen = false;
    }
  }
  return verdict;
}

}  // namespace lastref::harness::oracle
