// no-stray-process: no process outlives the run.
#include "harness/oracle/registered_oracle.hpp"

namespace lastref::harness::oracle {
namespace {

/// When the run is over, no process remains.
Judgement no_stray_process(const Evidence& evidence) {
  Judgement judgement;
  for (const Record& record : evidence.notable()) {
    if (is_fact(record, fact::born)) {
      ++judgement.look.seen;
      ++judgement.look.filled;
    }
    if (is_fact(record, fact::stray)) {
      judgement.findings.push_back({.claim = "no-stray-process: no process outlives the run",
                                    .seen = evidence.text_of(record)});
    }
  }
  return judgement;
}

const RegisteredOracle registered_no_stray_process("no-stray-process",
                                                   Concern::leftovers,
                                                   no_stray_process,
                                                   Judges::programs);

}  // namespace
}  // namespace lastref::harness::oracle
