// refuted: what the scenario itself found wrong.
#include "harness/oracle/oracles.hpp"

namespace lastref::harness::oracle {

std::vector<Finding> refuted(const Evidence& evidence) {
  std::vector<Finding> findings;
  bool expects_seen = false;
  for (const Record& record : evidence.records) {
    if (is_fact(record, fact::refuted)) {
      findings.push_back({.claim = std::string(record.text.view()), .seen = {}});
      expects_seen = true;
    } else if (is_fact(record, fact::seen) && expects_seen) {
      findings.back().seen = record.text.view();
      expects_seen = false;
    }
  }
  return findings;
}

}  // namespace lastref::harness::oracle
