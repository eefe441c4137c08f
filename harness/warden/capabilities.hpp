// capabilities: tests what the warden can do on this machine, by trying it.
#pragma once

#include <string>
#include <vector>

namespace lastref::harness::warden {

struct Diagnosis {
  std::string what;
  bool works = false;
  std::string lost;    ///< What is not available without it
  std::string remedy;  ///< What to do about it
};

/// Runs each test in a process of its own.
std::vector<Diagnosis> diagnose();

/// Tests only what everything else requires: whether a program can be watched from start to end.
bool watches_here();

}  // namespace lastref::harness::warden
