// counting: the oracles that know who holds what.
#include <algorithm>
#include <map>

#include "harness/oracle/holdings.hpp"
#include "harness/oracle/oracles.hpp"

namespace lastref::harness::oracle {
namespace {

constexpr std::string_view exact_claim =
    "refcount-exact: the tracker counts what the processes hold";
constexpr std::string_view premature_claim =
    "no-premature-unlink: what a live process holds is not cleaned up";

std::string text_of(const Range& range) {
  return range.least == range.most
             ? std::to_string(range.least)
             : std::to_string(range.least) + " to " + std::to_string(range.most);
}

/// What the tracker said at one quiet moment: journal text of a resource, by process.
using Counts = std::map<Holdings::Key, std::int64_t>;

class CountsOracle {
 public:
  std::vector<Finding> take() { return std::move(findings_); }

  void read(const Record& record) {
    holdings_.read(record);
    if (record.kind != RecordKind::fact) {
      return;
    }
    if (record.place == fact::count) {
      read_count(record);
    } else if (record.place == fact::counted) {
      compare();
      seen_.clear();
    }
  }

 private:
  void read_count(const Record& record) {
    const auto process = holdings_.process_of(static_cast<os::Pid>(record.k));
    if (process) {
      seen_[{*process, record.text.view()}] += record.value;
    } else {
      complain(record.text.view(), "pid " + std::to_string(record.k), "nothing", record.value);
    }
  }

  void compare() {
    for (const auto& [key, range] : holdings_.counts()) {
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
  }

  void complain(std::string_view resource,
                const std::string& holder,
                const std::string& expected,
                std::int64_t seen) {
    findings_.push_back({.claim = std::string(exact_claim),
                         .seen = std::string(resource) + ": " + holder + " holds " + expected +
                                 ", and the tracker counts " + std::to_string(seen)});
  }

  Holdings holdings_;
  Counts seen_;
  std::vector<Finding> findings_;
};

/// What a successful clean-up crossing removes, as journal text of the resource; empty if it is
/// none.
std::string removed_by(const Record& record) {
  const auto text = [&](ResourceType type) {
    return journal_text(to_text(Resource{.type = type, .name = std::string(record.text.view())}));
  };
  switch (record.call) {
    case Call::unlink:
      return text(ResourceType::file);
    case Call::remove_folder:
      return text(ResourceType::folder);
    case Call::unlink_shm:
      return text(ResourceType::shm);
    case Call::unlink_semaphore:
      return text(ResourceType::semlock);
    default:
      return {};
  }
}

/// Whether removing `removed`, which is no name of its own, takes `held` away, or something out of
/// it.
bool takes_from(std::string_view held, const Record& record, std::string_view removed) {
  if (held == removed) {
    return true;
  }
  const bool is_path = record.call == Call::unlink || record.call == Call::remove_folder;
  if (!is_path || !held.starts_with("folder:")) {
    return false;
  }
  const std::string_view path = removed.substr(removed.find(':') + 1);
  const std::string_view folder = held.substr(held.find(':') + 1);
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

}  // namespace

std::vector<Finding> refcount_exact(const Evidence& evidence) {
  // With a call that fails for ever, not everything that is true can be told to the tracker.
  const bool fails_for_ever = std::ranges::any_of(evidence.plan.faults, [](const Fault& fault) {
    return fault.kind == FaultKind::fail_always;
  });
  if (fails_for_ever) {
    return {};
  }
  CountsOracle oracle;
  for (const Record& record : evidence.records) {
    oracle.read(record);
  }
  return oracle.take();
}

std::vector<Finding> no_premature_unlink(const Evidence& evidence) {
  Holdings holdings;
  std::vector<Finding> findings;
  for (const Record& record : evidence.records) {
    holdings.read(record);
    if (record.kind != RecordKind::end || record.error != 0 || !is_tracker(record)) {
      continue;
    }
    const std::string removed = removed_by(record);
    if (removed.empty()) {
      continue;
    }
    const bool is_named = std::ranges::any_of(
        holdings.counts(), [&](const auto& item) { return item.first.second == removed; });
    for (const auto& [key, range] : holdings.counts()) {
      if (is_named && key.second != removed) {
        continue;  // It goes by its own count, whatever it lies in.
      }
      if (range.least > 0 && holdings.is_alive(key.first) &&
          takes_from(key.second, record, removed)) {
        findings.push_back({.claim = std::string(premature_claim),
                            .seen = std::string(record.role.view()) + " removed " + removed +
                                    " while " + holdings.role_of(key.first) + " held " +
                                    std::string(key.second)});
      }
    }
  }
  return findings;
}

}  // namespace lastref::harness::oracle
