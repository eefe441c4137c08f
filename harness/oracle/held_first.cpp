// held-first: a file that could not be held is not mapped, and a mapped file is held.
//
// Nothing else detects a receiver that continues anyway: the array is right, nothing leaks, and the
// error was returned to an operation inside the operation. Only in another order the file would be
// missing. On Linux releasing before unmapping loses nothing either. But a file system that keeps a
// file in use under another name (NFS) leaves that name in the folder, which then cannot be
// removed.
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/oracle/registered_oracle.hpp"
#include "harness/platform/names.hpp"

namespace lastref::harness::oracle {
namespace {

/// An operation in progress, and the last holds in it that failed and succeeded.
struct Word {
  std::string_view name;
  std::string_view not_held = {};
  std::string_view held = {};
  int error = 0;
};

/// References and maps of a process. Files with objects of the same name in the journal, like those
/// of one context, are counted together.
struct Mapped {
  std::map<std::string_view, std::string_view> objects = {};  ///< by the resource
  std::map<std::string_view, std::int64_t> references = {};   ///< taken by hold and register
  std::map<std::string_view, std::int64_t> maps = {};         ///< by the object
};

class HeldFirst {
 public:
  Judgement take() { return std::move(judgement_); }

  void read(const Record& record) {
    std::vector<Word>& words = words_[{record.process, record.actor}];
    read_map(record, words);
    if (record.kind == RecordKind::operation_begin) {
      words.push_back({.name = record.name.view()});
      if (record.name == "release") {
        begin_release(record);
      }
    } else if (record.kind == RecordKind::operation_end && !words.empty()) {
      const Word ended = words.back();
      words.pop_back();
      if (record.error == 0 && (record.name == "hold" || record.name == "register")) {
        ++mapped_[record.process].references[record.text.view()];
      }
      if (record.name == "hold" && !words.empty()) {
        end_hold(record, words.back());
      }
      if (record.error == 0 && ended.name == "rebuild" && !ended.not_held.empty()) {
        complain(record, ended);
      }
    }
  }

 private:
  /// A hold that succeeds cancels one that failed.
  void end_hold(const Record& record, Word& around) {
    ++judgement_.look.seen;
    judgement_.look.filled += record.error == 0 ? 0U : 1U;
    around.not_held = record.error == 0 ? std::string_view() : record.text.view();
    around.held = record.error == 0 ? record.text.view() : std::string_view();
    around.error = record.error;
  }

  void read_map(const Record& record, const std::vector<Word>& words) {
    if (record.kind != RecordKind::end ||
        (record.call != Call::map && record.call != Call::unmap)) {
      return;
    }
    Mapped& mapped = mapped_[record.process];
    if (record.call == Call::unmap) {
      // Also after an error, because it is not retried.
      const auto known = mapped.maps.find(record.object.view());
      if (known != mapped.maps.end()) {
        --known->second;
      }
    } else if (record.call == Call::map && record.error == 0 && !words.empty() &&
               words.back().name == "rebuild" && !words.back().held.empty()) {
      mapped.objects[words.back().held] = record.object.view();
      ++mapped.maps[record.object.view()];
    }
  }

  /// A process with more maps than references after this release releases too early.
  void begin_release(const Record& record) {
    Mapped& mapped = mapped_[record.process];
    const auto held = mapped.references.find(record.text.view());
    const auto object = mapped.objects.find(record.text.view());
    if (held == mapped.references.end() || held->second == 0) {
      return;
    }
    --held->second;
    if (object == mapped.objects.end()) {
      return;
    }
    std::int64_t references = 0;
    for (const auto& [resource, count] : mapped.references) {
      const auto other = mapped.objects.find(resource);
      references += other != mapped.objects.end() && other->second == object->second ? count : 0;
    }
    if (const std::int64_t maps = mapped.maps[object->second]; maps > references) {
      judgement_.findings.push_back(
          {.claim = "held-first: a process releases a file after it has unmapped it",
           .seen = std::string(record.role.view()) + " releases " +
                   std::string(record.text.view()) + ", and keeps " + std::to_string(maps) +
                   " maps and " + std::to_string(references) + " references"});
    }
  }

  void complain(const Record& record, const Word& word) {
    judgement_.findings.push_back(
        {.claim = "held-first: a file that could not be held is not mapped",
         .seen = std::string(record.role.view()) + " could not hold " + std::string(word.not_held) +
                 " (" + name_of_error(word.error) + "), and rebuilt an array of it"});
  }

  std::map<std::pair<std::uint16_t, std::uint16_t>, std::vector<Word>> words_;  ///< by thread
  std::map<std::uint16_t, Mapped> mapped_;                                      ///< by process
  Judgement judgement_;
};

/// A receiver rebuilds no array from a file that it could not hold, and releases no file that it
/// still has mapped.
Judgement held_first(const Evidence& evidence) {
  HeldFirst oracle;
  for (const Record& record : evidence.notable()) {
    oracle.read(record);
  }
  return oracle.take();
}

const RegisteredOracle registered_held_first("held-first", Concern::references, held_first);

}  // namespace
}  // namespace lastref::harness::oracle
