// one-computation: a value of a cache is computed once at a time, over all processes and threads.
//
// An operation "compute a value" begins and ends with the key.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "harness/oracle/registered_oracle.hpp"

namespace lastref::harness::oracle {
namespace {

Judgement one_computation(const Evidence& evidence) {
  Judgement judgement;
  using Caller = std::pair<std::uint16_t, std::uint16_t>;  // process and actor
  std::map<Caller, std::string_view> under_way;            // by the key
  for (const Record& record : evidence.notable()) {
    const Caller caller(record.process, record.actor);
    if (is_fact(record, fact::died)) {
      std::erase_if(under_way,
                    [&](const auto& each) { return each.first.first == record.process; });
    }
    if (record.name != "compute a value") {
      continue;
    }
    if (record.kind == RecordKind::operation_end) {
      under_way.erase(caller);
      continue;
    }
    const std::string_view key = record.text.view();
    ++judgement.look.seen;
    ++judgement.look.filled;
    if (std::ranges::any_of(under_way, [&](const auto& each) { return each.second == key; })) {
      judgement.findings.push_back({.claim = "one-computation: a value is computed once at a time",
                                    .seen = std::string(record.role.view()) + " computes " +
                                            std::string(key) +
                                            " while another process or thread does"});
    }
    under_way[caller] = key;
  }
  return judgement;
}

const RegisteredOracle registered_one_computation("one-computation",
                                                  Concern::contents,
                                                  one_computation);

}  // namespace
}  // namespace lastref::harness::oracle
