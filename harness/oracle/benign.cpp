#include "harness/oracle/benign.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <set>

#include "harness/journal/record.hpp"
#include "harness/oracle/operations.hpp"

namespace lastref::harness::oracle {

namespace {

/// Errors after which every caller tries again, including a scenario.
bool is_interruption(int error) noexcept {
  return error == EINTR || error == EAGAIN;
}

}  // namespace

bool has_injected(const Evidence& evidence) {
  return std::ranges::any_of(evidence.notable(), &Record::injected);
}

bool is_unnoticed(const Evidence& evidence) {
  const std::span<const Fault> faults = evidence.plan.faults;
  std::set<std::uint16_t> have_to_send;
  int resets = 0;
  Operations operations;
  const auto is_noticed = [&](const Record& record) {
    operations.read(record);
    if (record.injected && operations.is_own(record) && !is_interruption(record.error)) {
      return true;
    }
    if (record.injected && record.call == Call::send && record.error == EAGAIN) {
      have_to_send.insert(record.process);
    }
    // Linux reports it once per connection: after a second report the connection is lost.
    if (record.injected && record.call == Call::receive && record.error == ECONNRESET &&
        ++resets > 1) {
      return true;
    }
    if (is_fact(record, fact::early)) {
      return true;
    }
    if (is_fact(record, fact::fired)) {
      const auto index = static_cast<std::size_t>(record.value);
      return index >= faults.size() || !is_benign(faults[index]);
    }
    return is_fact(record, fact::died) && record.text != fact::ended &&
           have_to_send.contains(record.process);
  };
  // All records show which thread made a call. That matters only if one failed by a fault.
  return has_injected(evidence) ? std::ranges::none_of(evidence.records, is_noticed)
                                : std::ranges::none_of(evidence.notable(), is_noticed);
}

bool is_late_at_most(const Evidence& evidence) {
  const std::span<const Fault> faults = evidence.plan.faults;
  bool is_late = false;
  for (const Record& record : evidence.notable()) {
    is_late = is_late || is_fact(record, fact::early);
    if (is_fact(record, fact::fired)) {
      const auto index = static_cast<std::size_t>(record.value);
      if (index >= faults.size() || !is_early_timeout(faults[index].kind)) {
        return false;
      }
      is_late = true;
    }
  }
  return is_late;
}

bool has_two_faults(const Evidence& evidence) {
  const auto& faults = evidence.plan.faults;
  return std::ranges::count_if(faults, std::not_fn(is_benign)) > 1;
}

bool changes_order(const Plan& plan) {
  const bool is_paused = std::ranges::any_of(
      plan.faults, [](const Fault& fault) { return fault.kind == FaultKind::pause; });
  return is_paused || plan.seed || !plan.choices.empty() || !plan.switches.empty();
}

}  // namespace lastref::harness::oracle
