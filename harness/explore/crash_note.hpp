// CrashNote: what a thread runs in this very program, so that a crash of it is a finding.
//
// The sim runs the product in the process that judges it: what crashes there takes all with it. So
// each thread notes the run that is under way, and a deadly signal tells that before the end.
#pragma once

#include <string>

namespace lastref::harness {

/// Deadly signals are told as long as it lives, with what the thread has noted, and end the program
/// with exit code 1. What has another handler already, as a sanitizer's, keeps that. One at a time.
class CrashesAreTold {
 public:
  CrashesAreTold() noexcept;
  CrashesAreTold(const CrashesAreTold&) = delete;
  CrashesAreTold& operator=(const CrashesAreTold&) = delete;
  ~CrashesAreTold();
};

/// Of the calling thread. It has a stack of its own for signals meanwhile.
class CrashNote {
 public:
  CrashNote() noexcept;
  CrashNote(const CrashNote&) = delete;
  CrashNote& operator=(const CrashNote&) = delete;
  ~CrashNote();

  /// What is under way from now on, and the command that repeats it.
  void begin(const std::string& scenario, const std::string& command);
  void end() noexcept;
};

}  // namespace lastref::harness
