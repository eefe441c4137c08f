// no-stray-process: no process outlives the run.
#include "harness/oracle/oracles.hpp"

namespace lastref::harness::oracle {

std::vector<Finding> no_stray_process(const Evidence& evidence) {
  std::vector<Finding> findings;
  for (const Record& record : evidence.records) {
    if (is_fact(record, fact::stray)) {
      findings.push_back({.claim = "no-stray-process: no process outlives the run",
                          .seen = std::string(record.text.view())});
    }
  }
  return findings;
}

}  // namespace lastref::harness::oracle
