// OracleStory: a planted journal, and the findings of oracles on it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "harness/oracle/evidence.hpp"
#include "property_tests/support/printing.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref::harness {

inline constexpr const char* a_bin = "file:/run/a.bin";
inline constexpr std::uint16_t root = 0;
inline constexpr std::uint16_t tracker = 1;
inline constexpr std::uint16_t client = 2;
inline constexpr os::Pid pid_of_root = 10;
inline constexpr os::Pid pid_of_client = 12;

/// A journal, written line by line.
class Story {
 public:
  /// Root, tracker and a client are running.
  Story() {
    born(root, "root", pid_of_root);
    born(tracker, "tracker", 11);
    born(client, "client", pid_of_client);
  }

  Story& born(std::uint16_t process, const char* role, os::Pid pid) {
    roles_.resize(std::max<std::size_t>(roles_.size(), process + 1U));
    roles_[process] = role;
    return fact(process, fact::born, "root", pid);
  }
  Story& fact(std::uint16_t process,
              std::string_view name,
              std::string_view text,
              std::int64_t value = 0) {
    Record& record = add(process, RecordKind::fact, name);
    record.text.assign(text);
    record.value = value;
    return *this;
  }
  Story& died(std::uint16_t process, std::string_view how) {
    return fact(process, fact::died, how);
  }
  Story& begins(std::uint16_t process, const char* operation, const char* text = a_bin) {
    add(process, RecordKind::operation_begin, operation).text.assign(text);
    return *this;
  }
  Story& ends(std::uint16_t process,
              const char* operation,
              const char* text = a_bin,
              int error = 0) {
    Record& record = add(process, RecordKind::operation_end, operation);
    record.text.assign(text);
    record.error = error;
    return *this;
  }
  Story& says(std::uint16_t process, const char* operation, const char* text = a_bin) {
    return begins(process, operation, text).ends(process, operation, text);
  }
  /// A call that returned.
  Story& crossed(std::uint16_t process, Call call, const char* text, int error = 0) {
    Record& record = add(process, RecordKind::end, name_of(call));
    record.call = call;
    record.text.assign(text);
    record.error = error;
    return *this;
  }
  Story& injected(std::uint16_t process, Call call, int error, const char* text = "") {
    crossed(process, call, text, error);
    records_.back().injected = true;
    return *this;
  }
  Story& with_mode(std::int64_t mode) {
    records_.back().value = mode;
    return *this;
  }
  /// In another thread of its process.
  Story& by(std::uint16_t actor) {
    records_.back().actor = actor;
    return *this;
  }
  /// Made only because the world asked the tracker.
  Story& observed() {
    records_.back().observed = true;
    return *this;
  }
  Story& on(const char* object) {
    records_.back().object.assign(object);
    return *this;
  }
  /// The tracker's answer at a quiet moment: that many references of one process to a.bin, or no
  /// references.
  Story& counted(os::Pid holder, std::int64_t count, std::string_view when = fact::counted) {
    if (count > 0) {
      fact(tracker, fact::count, a_bin, count);
      records_.back().k = static_cast<std::uint32_t>(holder);
    }
    return fact(tracker, when, "", count > 0 ? 1 : 0);
  }
  /// The same immediately after a kill, when other processes may be about to send something.
  Story& counted_at_once(os::Pid holder, std::int64_t count) {
    return counted(holder, count, fact::counted_at_once);
  }
  /// All processes end normally.
  Story& all_end() {
    return died(client, fact::ended).died(root, fact::ended).died(tracker, fact::ended);
  }
  const std::vector<Record>& records() const { return records_; }

 private:
  Record& add(std::uint16_t process, RecordKind kind, std::string_view name) {
    Record& record = records_.emplace_back();
    record.published = 1;
    record.seq = static_cast<std::uint32_t>(records_.size() - 1);
    record.process = process;
    record.kind = kind;
    record.role.assign(roles_[process]);
    record.name.assign(name);
    return record;
  }

  std::vector<std::string> roles_;
  std::vector<Record> records_;
};

class OracleTest : public testing::Test {
 protected:
  Evidence evidence_of(const Story& story) const {
    return {.scenario = scenario_,
            .plan = plan_,
            .records = story.records(),
            .left = left_,
            .left_after_sweep = left_after_sweep_,
            .standard_error = standard_error_};
  }

  /// All findings of a test are in the transcript.
  void TearDown() override {
    if (!found_.empty()) {
      pretend::expect_transcript(std::vector<std::string>(found_.begin(), found_.end()));
    }
  }

  std::vector<Finding> judged(std::string_view oracle, const Story& story) const {
    std::vector<Finding> findings = judge_by(oracle, evidence_of(story)).findings;
    for (const Finding& finding : findings) {
      found_.insert(finding.claim + "\n  " + finding.seen);
    }
    return findings;
  }
  Look look_of(std::string_view oracle, const Story& story) const {
    return judge_by(oracle, evidence_of(story)).look;
  }
  /// The findings of no-leak, immediately and at the next start.
  std::vector<Finding> leaks(const Story& story) const {
    std::vector<Finding> all = judged("no-leak", story);
    std::ranges::move(judged("no-leak at the next start", story), std::back_inserter(all));
    return all;
  }

  Scenario scenario_;
  Plan plan_;
  std::vector<std::string> left_;
  std::vector<std::string> left_after_sweep_;
  std::string standard_error_;

 private:
  mutable std::set<std::string> found_;
};

}  // namespace lastref::harness
