// no-stray-process: no process outlives the run.
#include "harness/oracle/oracles.hpp"

namespace lastref::harness::oracle {

Judgement no_stray_process(const Evidence& evidence) {
  Judgement judgement;
  for (const Record& record : evidence.records) {
    if (is_fact(record, fact::born)) {
      ++judgement.look.seen;
      ++judgement.look.filled;
    }
    if (is_fact(record, fact::stray)) {
      judgement.findings.push_back({.claim = "no-stray-process: no process outlives the run",
                                    .seen = std::string(record.text.view())});
    }
  }
  return judgement;
}

}  // namespace lastref::harness::oracle
