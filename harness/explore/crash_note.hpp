// CrashNote: records what a thread runs in this program, so that a crash of it is a finding.
//
// The sim runs the product in the process that judges it, so a crash ends everything. Therefore
// each thread records its current run, and the handler of a fatal signal reports it before the
// process ends.
#pragma once

#include <string>

namespace lastref::harness {

/// While it exists, deadly signals are reported with the record of the thread, and end the program
/// with exit code 1. Signals that have another handler already, like that of a sanitizer, keep it.
/// One at a time.
class CrashesAreTold {
 public:
  CrashesAreTold() noexcept;
  CrashesAreTold(const CrashesAreTold&) = delete;
  CrashesAreTold& operator=(const CrashesAreTold&) = delete;
  ~CrashesAreTold();
};

/// The record of the calling thread, which has an alternate signal stack while the record exists.
class CrashNote {
 public:
  CrashNote() noexcept;
  CrashNote(const CrashNote&) = delete;
  CrashNote& operator=(const CrashNote&) = delete;
  ~CrashNote();

  /// The run in progress from now on, and the command that repeats it.
  void begin(const std::string& scenario, const std::string& command);
  void end() noexcept;
};

}  // namespace lastref::harness
