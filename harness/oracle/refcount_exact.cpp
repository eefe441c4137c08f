// refcount-exact: the tracker's counts equal the references of the processes.
#include <algorithm>
#include <map>

#include "harness/oracle/holdings.hpp"
#include "harness/oracle/registered_oracle.hpp"

namespace lastref::harness::oracle {
namespace {

constexpr std::string_view exact_claim =
    "refcount-exact: the tracker counts what the processes hold";

std::string text_of(const Range& range) {
  return range.least == range.most
             ? std::to_string(range.least)
             : std::to_string(range.least) + " to " + std::to_string(range.most);
}

/// The tracker's report at one quiet moment: journal text of a resource, by process.
using Counts = std::map<Holdings::Key, std::int64_t>;

class CountsOracle {
 public:
  Judgement take() { return std::move(judgement_); }

  void read(const Record& record) {
    holdings_.read(record);
    if (record.kind != RecordKind::fact) {
      return;
    }
    if (record.name == fact::count) {
      read_count(record);
    } else if (record.name == fact::counted) {
      holdings_.all_heard();
      compare();
    } else if (record.name == fact::counted_at_once) {
      compare();
    }
  }

 private:
  void read_count(const Record& record) {
    const auto process = holdings_.process_of(static_cast<os::Pid>(record.k));
    if (process) {
      seen_[{*process, holdings_.name_of(*process, record.text.view())}] += record.value;
    } else {
      complain(record.text.view(), "pid " + std::to_string(record.k), "nothing", record.value);
    }
  }

  void compare() {
    ++judgement_.look.seen;
    // Counting a reference that was released since is wrong as well.
    const bool is_filled = holdings_.was_anything_held() || !seen_.empty();
    judgement_.look.filled += is_filled ? 1U : 0U;
    for (const auto& each : holdings_.counts()) {
      const Holdings::Key& key = each.first;
      const Range range = holdings_.count_at_once(key);
      const auto found = seen_.find(key);
      const std::int64_t seen = found == seen_.end() ? 0 : found->second;
      if (seen < range.least || seen > range.most) {
        complain(key.second, holdings_.role_of(key.first), text_of(range), seen);
      }
    }
    for (const auto& [key, seen] : seen_) {
      if (!holdings_.counts().contains(key)) {
        complain(key.second, holdings_.role_of(key.first), "0", seen);
      }
    }
    seen_.clear();
    holdings_.looked_at();
  }

  void complain(std::string_view resource,
                const std::string& holder,
                const std::string& expected,
                std::int64_t seen) {
    judgement_.findings.push_back({.claim = std::string(exact_claim),
                                   .seen = std::string(resource) + ": " + holder + " holds " +
                                           expected + ", and the tracker counts " +
                                           std::to_string(seen)});
  }

  Holdings holdings_;
  Counts seen_;
  Judgement judgement_;
};

/// At each quiet moment the tracker's counts agree with the operations of the processes in the
/// journal. Operations in progress may count or not; a dead process holds nothing.
Judgement refcount_exact(const Evidence& evidence) {
  // With a call that fails permanently, not everything that is true can be reported to the tracker.
  if (std::ranges::any_of(evidence.plan.faults, is_for_ever, &Fault::kind)) {
    return waived(Waiver::fails_for_ever);
  }
  CountsOracle oracle;
  for (const Record& record : evidence.notable()) {
    oracle.read(record);
  }
  return oracle.take();
}

const RegisteredOracle registered_refcount_exact("refcount-exact",
                                                 Concern::references,
                                                 refcount_exact);

}  // namespace
}  // namespace lastref::harness::oracle
