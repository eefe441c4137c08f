// no-fd-or-map-leak: who ends in good order has closed what it opened, and reaped its children.
//
// What is left is told by the instruments, which keep count, and in the kernel world by the process
// as /proc has it, whoever keeps count: that the text of the fact says.
#include <algorithm>

#include "harness/oracle/oracles.hpp"

namespace lastref::harness::oracle {
namespace {

/// A map stays where it is when its unmap fails, and nobody has a better one. That it was told is
/// error-surfaced's to judge.
bool could_not_unmap(const Evidence& evidence, const Record& left) {
  return std::ranges::any_of(evidence.records, [&](const Record& record) {
    return record.call == Call::unmap && record.injected && record.process == left.process &&
           left.object == ObjectText("map:" + std::string(record.object.view())).view();
  });
}

/// Who is told that it has no such child asks no more; and who may not be killed is left alone.
bool could_not_reap(const Evidence& evidence, const Record& left) {
  return std::ranges::any_of(evidence.records, [&](const Record& record) {
    return (record.call == Call::wait_child || record.call == Call::signal_process) &&
           record.injected && record.process == left.process &&
           left.object == ObjectText("child:" + std::string(record.object.view())).view();
  });
}

}  // namespace

Judgement no_fd_leak(const Evidence& evidence) {
  Judgement judgement;
  for (const Record& record : evidence.records) {
    // Only who ends in good order is asked.
    if (is_fact(record, fact::died) && record.text == fact::ended) {
      ++judgement.look.seen;
      ++judgement.look.filled;
    }
    if (is_fact(record, fact::fd_left) && !could_not_unmap(evidence, record) &&
        !could_not_reap(evidence, record)) {
      judgement.findings.push_back(
          {.claim =
               "no-fd-or-map-leak: who ends in good order has closed what it opened, and reaped "
               "its children",
           .seen = std::string(record.role.view()) + " left " + std::string(record.object.view()) +
                   (record.text.empty() ? "" : ", ") + std::string(record.text.view())});
    }
  }
  return judgement;
}

}  // namespace lastref::harness::oracle
