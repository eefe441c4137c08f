// folders-last: when the last process of a tree has ended, its tracker removes the folders after
// all other names that are still counted.
//
// No leftover shows another order: a folder is removed with everything in it. But a program that
// finds the folder missing and the file still there, or a clean-up that ends in between, depends on
// it.
//
// Only what the last process itself held when it ended is judged: the tracker may have noticed the
// end of other processes earlier. A name that could not be removed at first may be removed later,
// after the folders.
#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/oracle/holdings.hpp"
#include "harness/oracle/leftovers.hpp"
#include "harness/oracle/registered_oracle.hpp"

namespace lastref::harness::oracle {
namespace {

bool is_folder(std::string_view resource) noexcept {
  return resource.starts_with("folder:");
}

class FoldersLast {
 public:
  explicit FoldersLast(std::span<const Record> records) : records_(records) {}

  Judgement take() { return std::move(judgement_); }

  void read(const Record& record) {
    if (is_tracker(record)) {
      read_tracker(record);
    } else if (record.kind == RecordKind::fact && record.name == fact::born) {
      processes_.insert(record.process);
      counted_.clear();
      folder_.clear();
    } else if ((record.kind == RecordKind::fact && record.name == fact::died) ||
               (record.kind == RecordKind::operation_begin && record.name == "leave") ||
               gives_up_lock(record)) {
      end_process(record.process);
    }
    holdings_.read(record);
  }

 private:
  /// At the end of the last one, what it holds is what the tracker cleans up. A process that has
  /// left and lives on may lead another tree: it is not awaited again.
  void end_process(std::uint16_t process) {
    const bool was_member = processes_.erase(process) > 0;
    if (!was_member || !processes_.empty()) {
      return;
    }
    for (const auto& [key, range] : holdings_.counts()) {
      if (key.first == process && range.least > 0) {
        counted_.emplace(key.second);
      }
    }
    const auto folders = std::ranges::count_if(counted_, is_folder);
    judgement_.look.seen += 1;
    judgement_.look.filled += folders > 0 && std::ranges::ssize(counted_) > folders ? 1U : 0U;
  }

  void read_tracker(const Record& record) {
    if (record.injected && record.error != 0) {
      is_prevented_ = true;
    }
    if (counted_.empty() || record.kind != RecordKind::end || record.error != 0) {
      return;
    }
    const std::string removed = resource_removed_by(record);
    if (!counted_.contains(removed)) {
      return;
    }
    if (is_folder(removed)) {
      folder_ = removed;
    } else if (!folder_.empty() && !is_prevented_ && !was_tried(removed)) {
      judgement_.findings.push_back(
          {.claim = "folders-last: at the end of a tree, folders are removed after all other names",
           .seen = std::string(record.role.view()) + " removed " + folder_ + " before " + removed});
    }
  }

  /// Whether a tracker could not remove it at first. Only where something else would be found:
  /// failed removals are not among the notable records.
  bool was_tried(std::string_view resource) const {
    return std::ranges::any_of(records_, [&](const Record& record) {
      return record.kind == RecordKind::end && record.error != 0 && is_tracker(record) &&
             resource_removed_by(record) == resource;
    });
  }

  std::span<const Record> records_;
  Holdings holdings_;
  std::set<std::uint16_t> processes_;           ///< All but trackers, until they end or leave
  std::set<std::string, std::less<>> counted_;  ///< Held by the last of them when it ended
  std::string folder_;                          ///< The last folder among them that was removed
  bool is_prevented_ = false;                   ///< A fault made a call of a tracker fail.
  Judgement judgement_;
};

/// A tracker cleans up folders last, after the last process has ended.
Judgement folders_last(const Evidence& evidence) {
  FoldersLast oracle(evidence.records);
  for (const Record& record : evidence.notable()) {
    oracle.read(record);
  }
  return oracle.take();
}

const RegisteredOracle registered_folders_last("folders-last", Concern::leftovers, folders_last);

}  // namespace
}  // namespace lastref::harness::oracle
