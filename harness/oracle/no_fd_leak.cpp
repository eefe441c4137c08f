// no-fd-or-map-leak: who ends in good order has closed what it opened, and reaped its children.
//
// What is left is told by the instruments, which keep count, and in the kernel world by the process
// as /proc has it, whoever keeps count: that the text of the fact says.
#include <algorithm>

#include "harness/oracle/oracles.hpp"

namespace lastref::harness::oracle {
namespace {

/// What may stay where a call fails, as its name begins; nothing for other calls. A map stays where
/// it is when its unmap fails, and nobody has a better one: that it was told is error-surfaced's to
/// judge. Who is told that it has no such child asks no more; and who may not be killed is left
/// alone.
std::string_view kind_left_by(Call call) noexcept {
  switch (call) {
    case Call::unmap:
      return "map:";
    case Call::wait_child:
    case Call::signal_process:
      return "child:";
    default:
      return {};
  }
}

bool is_excused(const Evidence& evidence, const Record& left) {
  return std::ranges::any_of(evidence.records, [&](const Record& record) {
    const std::string_view kind = kind_left_by(record.call);
    return record.injected && record.process == left.process && !kind.empty() &&
           left.object == ObjectText(std::string(kind).append(record.object.view())).view();
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
    if (is_fact(record, fact::fd_left) && !is_excused(evidence, record)) {
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
