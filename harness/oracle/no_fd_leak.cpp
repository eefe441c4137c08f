// no-fd-or-map-leak: a process that exits has closed what it opened, and reaped its children.
//
// Of a watched program that means: their number does not grow with each round of its work.
//
// The instruments keep count and report leftovers. In the kernel world /proc of the process is
// checked as well, which does not depend on that count; the text of the fact says which.
#include <algorithm>

#include "harness/oracle/registered_oracle.hpp"

namespace lastref::harness::oracle {
namespace {

/// Prefix of the names that may remain where a call fails; empty for other calls. A map remains in
/// place when its unmap fails, and no process can do better: error-surfaced judges whether that was
/// reported. A process does not wait again for a child that was reported as missing, and leaves
/// alone one that it may not kill.
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

/// The name of a file that is written under another one.
std::string_view final_name_of(std::string_view object) noexcept {
  constexpr std::string_view ending = ".part";
  return object.ends_with(ending) ? object.substr(0, object.size() - ending.size()) : object;
}

/// What is left has the present name of a file, which may have been renamed after it was mapped.
bool is_excused(const Evidence& evidence, const Record& left) {
  return std::ranges::any_of(evidence.notable(), [&](const Record& record) {
    const std::string_view kind = kind_left_by(record.call);
    const auto is_left = [&](std::string_view object) {
      return left.object == ObjectText(std::string(kind).append(object)).view();
    };
    return record.injected && record.process == left.process && !kind.empty() &&
           (left.text.empty()
                ? is_left(record.object.view()) || is_left(final_name_of(record.object.view()))
                : left.object.view().starts_with(kind));
  });
}

/// A process that exits has closed what it opened, and reaped its children.
Judgement no_fd_leak(const Evidence& evidence) {
  Judgement judgement;
  for (const Record& record : evidence.notable()) {
    // Only processes that end in an orderly way are judged.
    if (is_fact(record, fact::died) && record.text == fact::ended) {
      ++judgement.look.seen;
      ++judgement.look.filled;
    }
    if (is_fact(record, fact::fd_left) && !is_excused(evidence, record)) {
      judgement.findings.push_back(
          {.claim =
               "no-fd-or-map-leak: a process that exits has closed what it opened, and reaped its "
               "children",
           .seen = evidence.is_of_program
                       ? evidence.text_of(record)
                       : std::string(record.role.view()) + " left " +
                             std::string(record.object.view()) + (record.text.empty() ? "" : ", ") +
                             std::string(record.text.view())});
    }
  }
  return judgement;
}

const RegisteredOracle registered_no_fd_leak("no-fd-or-map-leak",
                                             Concern::leftovers,
                                             no_fd_leak,
                                             Judges::programs);

}  // namespace
}  // namespace lastref::harness::oracle
