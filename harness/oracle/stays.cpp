// stays: names that were forgotten, or that belong to an outsider, are not removed.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "harness/oracle/holdings.hpp"
#include "harness/oracle/leftovers.hpp"
#include "harness/oracle/registered_oracle.hpp"

namespace lastref::harness::oracle {
namespace {

/// What operations have done with a name.
struct Given {
  std::set<std::uint16_t> holders;  ///< that have counted it since it was last forgotten
  /// Threads of processes, with a register or hold in progress
  std::set<std::pair<std::uint16_t, std::uint16_t>> taking;
  std::set<std::uint16_t> gone;  ///< Holders that have left or died: their cleanup may come.
  /// Of holders that took it while another process forgot it, which may have come later: how many
  /// references they have for certain.
  std::map<std::uint16_t, int> certain;
  std::set<std::uint16_t> making;  ///< with a make in progress, during which nothing removes it
  /// By a process that forgets it: holders that took it before that began.
  std::map<std::uint16_t, std::set<std::uint16_t>> earlier;
  bool is_made = false;
  bool is_known = false;     ///< It was identified,
  bool is_anothers = false;  ///< and then an outsider replaced it.

  void may_be_removed() {
    is_made = false;
    making.clear();
  }
  /// Whether what the process makes is there until it is released.
  bool may_rely_on_it(std::uint16_t process) const {
    const auto found = certain.find(process);
    return (found == certain.end() || found->second > 0) &&
           (gone.empty() || holders.contains(process));
  }
};

/// A name that was forgotten, or that an outsider replaced after it was identified, still exists
/// after the next start, if the scenario leaves it on purpose. The operation `make`, or `replace`,
/// has created it.
Judgement stays(const Evidence& evidence) {
  std::map<std::string_view, Given> all;  // by the resource as operations have it
  for (const Record& record : evidence.notable()) {
    const std::string_view text = record.text.view();
    if (gives_up_lock(record) || is_fact(record, fact::died)) {
      // Its references end with it. If one was the last, the object is removed, and a later forget
      // of another process comes too late.
      for (auto& [resource, given] : all) {
        if (given.holders.contains(record.process)) {
          given.gone.insert(record.process);
          given.may_be_removed();
        }
      }
    } else if (record.kind == RecordKind::operation_begin &&
               (record.name == "register" || record.name == "hold")) {
      Given& given = all[text];
      given.holders.insert(record.process);
      given.taking.emplace(record.process, record.actor);
      if (const auto found = given.certain.find(record.process); found != given.certain.end()) {
        ++found->second;
      }
      for (auto& each : given.earlier) {
        each.second.erase(record.process);
      }
    } else if (record.kind == RecordKind::operation_begin && record.name == "forget") {
      Given& given = all[text];
      given.earlier[record.process] = given.holders;
      for (const auto& [process, actor] : given.taking) {
        given.earlier[record.process].erase(process);
      }
    } else if (record.kind == RecordKind::operation_begin &&
               (record.name == "release" || record.name == "unlink")) {
      Given& given = all[text];
      given.may_be_removed();  // If it was the last reference, the object is removed.
      const auto found = given.certain.find(record.process);
      if (record.name == "release" && found != given.certain.end() && found->second > 0) {
        --found->second;
      }
    } else if (record.kind == RecordKind::operation_begin && record.name == "make") {
      all[text].making.insert(record.process);
    } else if (record.kind == RecordKind::operation_end) {
      Given& given = all[text];
      given.taking.erase({record.process, record.actor});
      const bool is_whole = record.name == "make" && given.making.erase(record.process) > 0;
      if (record.error != 0) {
        continue;
      }
      if (record.name == "forget") {
        for (const std::uint16_t each : given.earlier[record.process]) {
          given.holders.erase(each);
          given.gone.erase(each);
        }
        given.certain.clear();
        for (const std::uint16_t each : given.holders) {
          given.certain[each] = 0;
        }
      }
      given.is_known = given.is_known || record.name == "identify";
      given.is_made = (given.is_made && record.name != "unlink") ||
                      (is_whole && given.may_rely_on_it(record.process));
      given.is_anothers = given.is_anothers || (record.name == "replace" && given.is_known);
    }
  }
  Judgement judgement;
  for (const auto& [resource, given] : all) {
    const std::string path = path_of(resource);
    const bool must_stay = given.is_anothers || (given.is_made && given.holders.empty());
    const bool is_meant = evidence.scenario.forgotten_stay || may_stay(evidence.scenario, path);
    if (!must_stay || !is_meant) {
      continue;
    }
    ++judgement.look.seen;
    ++judgement.look.filled;
    if (std::ranges::find(evidence.left_after_sweep, path) == evidence.left_after_sweep.end()) {
      judgement.findings.push_back(
          {.claim = "stays: forgotten names, and files of other owners, are left alone",
           .seen = path + " was removed"});
    }
  }
  return judgement;
}

const RegisteredOracle registered_stays("stays", Concern::leftovers, stays);

}  // namespace
}  // namespace lastref::harness::oracle
