// whole: ledgers.
#include <algorithm>
#include <set>
#include <utility>

#include "harness/oracle/file_readers.hpp"
#include "harness/oracle/registered_oracle.hpp"
#include "harness/oracle/whole_files.hpp"

namespace lastref::harness::oracle {
namespace {

bool is_ledger(std::string_view path) {
  return path.ends_with("/ledger");
}

/// Whether a write to a ledger may have been interrupted: a tracker was killed, or its write
/// failed.
bool may_be_cut_short(std::span<const Record> before) {
  return std::ranges::any_of(before, [](const Record& record) {
    const bool failed = record.injected && record.call == Call::write_at;
    const bool died = is_fact(record, fact::died) && record.text != fact::ended;
    return is_tracker(record) && (failed || died);
  });
}

/// Whether the tracker, asked directly after a kill, had received another message as well, and
/// wrote to its ledger after its answer.
bool wrote_behind_its_answer(std::span<const Record> before) {
  for (std::size_t at = before.size(); at > 0; --at) {
    const Record& record = before[at - 1];
    if (!record.observed && !is_fact(record, fact::count) &&
        !is_fact(record, fact::counted_at_once)) {
      return false;
    }
    if (record.observed && record.call == Call::write_at) {
      return true;
    }
  }
  return false;
}

/// The names that the tracker reported at that moment that it counts, and removes in the end.
std::set<std::string_view> counted_at_the_end_of(std::span<const Record> before) {
  std::set<std::string_view> counted;
  const bool was_asked =
      !before.empty() &&
      (is_fact(before.back(), fact::counted) ||
       (is_fact(before.back(), fact::counted_at_once) && !wrote_behind_its_answer(before)));
  for (std::size_t at = before.size() - 1; was_asked && at > 0; --at) {
    const Record& record = before[at - 1];
    if (!is_fact(record, fact::count)) {
      break;
    }
    if (!record.text.view().starts_with("noop:")) {
      counted.insert(record.text.view());
    }
  }
  return counted;
}

/// All ledgers that were read at one moment.
struct Moment {
  std::set<std::string> names;
  const FileLook* last = nullptr;
  std::span<const Record> before;
};

void compare(const Evidence& evidence, const Moment& moment, Judgement& judgement) {
  if (moment.last == nullptr || evidence.scenario.no_ledger || evidence.scenario.spoils_ledger) {
    return;
  }
  for (const std::string_view counted : counted_at_the_end_of(moment.before)) {
    ++judgement.look.filled;
    if (!moment.names.contains(std::string(counted))) {
      judgement.findings.push_back(broken_file(
          "a ledger", *moment.last, std::string(counted) + " is counted and not in it"));
    }
  }
}

/// The ledgers of trees: what the tracker counts is recorded, and only a record that a kill or a
/// failed write interrupted is cut short.
Judgement ledgers_are_whole(const Evidence& evidence) {
  Judgement judgement;
  Moment moment;
  const auto judge = [&](const FileLook& look, std::span<const Record> before) {
    if (moment.last != nullptr && moment.last->moment != look.moment) {
      compare(evidence, std::exchange(moment, {}), judgement);
    }
    ++judgement.look.seen;
    const ReadFile<LedgerContent> ledger = read_ledger(look.bytes);
    if (!ledger) {
      judgement.findings.push_back(broken_file("a ledger", look, ledger.error()));
      return;
    }
    if (ledger->is_cut_short && !may_be_cut_short(before)) {
      judgement.findings.push_back(
          broken_file("a ledger", look, "its last record is cut short, and no process was killed"));
    }
    for (const std::string& name : ledger->names) {
      moment.names.insert(journal_text(name));
    }
    moment.last = &look;
    moment.before = before;
  };
  for_each_file(evidence, is_ledger, judge);
  compare(evidence, moment, judgement);
  return judgement;
}

const RegisteredOracle registered_ledgers_are_whole("whole: ledgers",
                                                    Concern::contents,
                                                    ledgers_are_whole);

}  // namespace
}  // namespace lastref::harness::oracle
