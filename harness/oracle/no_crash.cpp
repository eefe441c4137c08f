// no-crash: a process dies of nothing but a planned kill.
#include "harness/oracle/oracles.hpp"

namespace lastref::harness::oracle {

Verdict no_crash(const Evidence& evidence) {
  Verdict verdict;
  for (const Record& record : evidence.records) {
    if (is_fact(record, fact::died)) {
      ++verdict.look.seen;
      ++verdict.look.filled;
    }
    if (is_fact(record, fact::died) && record.text == fact::crashed) {
      const std::string what = record.value > 0
                                   ? "died of signal " + std::to_string(record.value)
                                   : "exited by itself with " + std::to_string(-record.value);
      verdict.findings.push_back({.claim = "no-crash: a process dies of nothing but a planned kill",
                                  .seen = std::string(record.role.view()) + ' ' + what});
    }
  }
  return verdict;
}

}  // namespace lastref::harness::oracle
