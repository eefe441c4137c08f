// synced-first: a durable cache syncs a value to its device before others can see it, and its place
// before the operation returns.
//
// On a machine without power failure nothing else shows this, because unsynced data can be read as
// well. So the calls of each successful operation are checked. A failed operation promises nothing:
// it may have freed its space.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "harness/oracle/registered_oracle.hpp"
#include "harness/oracle/whole_files.hpp"

namespace lastref::harness::oracle {
namespace {

constexpr std::string_view durable = "durable ";

/// A put or a preserve in progress.
struct Word {
  std::set<std::string_view> unsynced = {};  ///< What it has written.
  std::string_view seen_early = {};          ///< What became visible before it was synced.
  bool is_placed = true;                     ///< Its place is synced as well.
};

class SyncedFirst {
 public:
  Judgement take() { return std::move(judgement_); }

  void read(const Record& record) {
    const bool is_word = record.name == "put" || record.name == "freeze";
    const auto found = words_.find({record.process, record.actor});
    if (record.kind == RecordKind::operation_begin) {
      const std::string_view text = record.text.view();
      if (record.name == "make a cache" && text.starts_with(durable)) {
        caches_.insert(text.substr(durable.size()));
      } else if (is_word && !text.ends_with(" load") &&
                 caches_.contains(text.substr(0, text.find(' ')))) {
        words_[{record.process, record.actor}] = {};
      }
    } else if (found == words_.end()) {
      return;
    } else if (record.kind == RecordKind::operation_end && is_word) {
      ++judgement_.look.seen;
      if (record.error == 0 && record.text == "true") {
        ++judgement_.look.filled;
        judge(record, found->second);
      }
      words_.erase(found);
    } else if (record.kind == RecordKind::end && record.error == 0) {
      cross(record, found->second);
    }
  }

 private:
  static void cross(const Record& record, Word& word) {
    // A cache writes at a place that it has taken. Other writes go to a pipe, or are a message.
    if (record.call == Call::write_at) {
      word.unsynced.insert(record.object.view());
    } else if (record.call == Call::sync) {
      word.unsynced.erase(record.object.view());
      word.is_placed = true;
    } else if (gives_name(record.call) || record.name == "word_change") {
      word.seen_early = word.unsynced.empty() ? word.seen_early : *word.unsynced.begin();
      word.is_placed = false;
    }
  }

  void judge(const Record& record, const Word& word) {
    if (!word.seen_early.empty()) {
      complain("a value of a durable cache is synced before it is visible",
               record,
               std::string(word.seen_early) + " was visible, and not synced");
    }
    if (!word.is_placed) {
      complain("the slot of a visible value is synced before the operation returns",
               record,
               "nothing was synced after it was visible");
    }
  }

  void complain(std::string_view claim, const Record& record, const std::string& seen) {
    judgement_.findings.push_back({.claim = "synced-first: " + std::string(claim),
                                   .seen = std::string(record.role.view()) + ' ' +
                                           std::string(record.name.view()) + ": " + seen});
  }

  std::set<std::string_view> caches_;  ///< The names of durable caches in all processes that share
                                       ///< them.
  std::map<std::pair<std::uint16_t, std::uint16_t>, Word> words_;  ///< by thread
  Judgement judgement_;
};

/// A durable cache syncs a value before others see it, and its place before the operation returns.
Judgement synced_first(const Evidence& evidence) {
  SyncedFirst oracle;
  for (const Record& record : evidence.notable()) {
    oracle.read(record);
  }
  return oracle.take();
}

const RegisteredOracle registered_synced_first("synced-first", Concern::conduct, synced_first);

}  // namespace
}  // namespace lastref::harness::oracle
