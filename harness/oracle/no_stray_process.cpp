// no-stray-process: no process outlives the run.
#include "harness/oracle/oracles.hpp"

namespace lastref::harness::oracle {

Verdict no_stray_process(const Evidence& evidence) {
  Verdict verdict;
  for (const Record& record : evidence.records) {
    if (is_fact(record, fact::born)) {
      ++verdict.look.seen;
      ++verdict.look.filled;
    }
    if (is_fact(record, fact::stray)) {
      verdict.findings.push_back({.claim = "no-stray-process: no process outlives the run",
                                  .seen = std::string(record.text.view())});
    }
  }
  return verdict;
}

}  // namespace lastref::harness::oracle
