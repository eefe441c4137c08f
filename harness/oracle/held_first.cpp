// held-first: what could not be held is not mapped.
//
// Of a receiver that goes on all the same nothing else tells: the array is right, nothing leaks,
// and the error came back to a word within the word. Only in another order, the file would be gone.
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/oracle/error_names.hpp"
#include "harness/oracle/oracles.hpp"

namespace lastref::harness::oracle {
namespace {

/// A word on its way, and the hold within it that has failed last.
struct Word {
  std::string_view name;
  std::string_view not_held = {};
  int error = 0;
};

class HeldFirst {
 public:
  Judgement take() { return std::move(judgement_); }

  void read(const Record& record) {
    std::vector<Word>& words = words_[{record.process, record.actor}];
    if (record.kind == RecordKind::operation_begin) {
      words.push_back({.name = record.name.view()});
    } else if (record.kind == RecordKind::operation_end && !words.empty()) {
      const Word ended = words.back();
      words.pop_back();
      if (record.name == "hold" && !words.empty()) {
        end_hold(record, words.back());
      }
      if (record.error == 0 && ended.name == "rebuild" && !ended.not_held.empty()) {
        complain(record, ended);
      }
    }
  }

 private:
  /// One that succeeds makes up for one that failed.
  void end_hold(const Record& record, Word& around) {
    ++judgement_.look.seen;
    judgement_.look.filled += record.error == 0 ? 0U : 1U;
    around.not_held = record.error == 0 ? std::string_view() : record.text.view();
    around.error = record.error;
  }

  void complain(const Record& record, const Word& word) {
    judgement_.findings.push_back(
        {.claim = "held-first: what could not be held is not mapped",
         .seen = std::string(record.role.view()) + " could not hold " + std::string(word.not_held) +
                 " (" + name_of_error(word.error) + "), and rebuilt an array of it"});
  }

  std::map<std::pair<std::uint16_t, std::uint16_t>, std::vector<Word>> words_;  ///< by thread
  Judgement judgement_;
};

}  // namespace

Judgement held_first(const Evidence& evidence) {
  HeldFirst oracle;
  for (const Record& record : evidence.records) {
    oracle.read(record);
  }
  return oracle.take();
}

}  // namespace lastref::harness::oracle
