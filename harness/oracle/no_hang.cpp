// no-hang: every run comes to its end.
#include "harness/oracle/oracles.hpp"

namespace lastref::harness::oracle {

std::vector<Finding> no_hang(const Evidence& evidence) {
  std::vector<Finding> findings;
  for (const Record& record : evidence.records) {
    if (is_fact(record, fact::hang)) {
      findings.push_back({.claim = "no-hang: every run comes to its end",
                          .seen = std::string(record.text.view())});
    }
  }
  return findings;
}

}  // namespace lastref::harness::oracle
