#include "harness/oracle/benign.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <set>

#include "harness/journal/record.hpp"

namespace lastref::harness::oracle {

bool is_unnoticed(const Evidence& evidence) {
  const std::span<const Fault> faults = evidence.plan.faults;
  std::set<std::uint16_t> have_to_send;
  return std::ranges::none_of(evidence.records, [&](const Record& record) {
    if (record.injected && record.call == Call::send && record.error == EAGAIN) {
      have_to_send.insert(record.process);
    }
    if (is_fact(record, fact::fired)) {
      const auto index = static_cast<std::size_t>(record.value);
      return index >= faults.size() || !is_benign(faults[index]);
    }
    return is_fact(record, fact::died) && record.text != fact::ended &&
           have_to_send.contains(record.process);
  });
}

bool has_two_faults(const Evidence& evidence) {
  const auto& faults = evidence.plan.faults;
  return std::ranges::count_if(faults, std::not_fn(is_benign)) > 1;
}

}  // namespace lastref::harness::oracle
