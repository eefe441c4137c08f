// ProgramEvidence: what was observed of a watched program, as evidence for the oracles that judge
// any program.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/oracle/evidence.hpp"
#include "harness/warden/warden.hpp"

namespace lastref::harness::warden {

/// "root (thread 7) in read(pipe), pipe_read"
std::string to_text(const Hung& hung);

class ProgramEvidence {
 public:
  ProgramEvidence();

  /// What it made and left, though it must not.
  void add_left(const std::vector<Leftover>& left);
  /// What other users must not be able to write to.
  void add_exposed(const std::vector<Leftover>& exposed);
  /// `since` is the event and the time after which it should have ended: "5 s after ..."
  void add(const Stayed& stayed, std::string_view since);
  void add(const Hung& hung);
  void add(const Growth& growth);
  void add(const Crash& crash);
  /// An expectation of yours that was not met.
  void add_refuted(std::string claim, std::string seen);

  /// Valid while this object exists and does not change.
  Evidence evidence() const;

 private:
  Record& add_fact(std::string_view role, std::string_view name, std::string text);

  Scenario scenario_;
  Plan plan_;
  std::vector<Record> records_;
  std::vector<std::string> texts_;
  std::vector<std::string> left_;
  std::map<std::string, std::string, std::less<>> makers_;
};

}  // namespace lastref::harness::warden
