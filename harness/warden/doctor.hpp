// doctor: what the warden can do on this machine, tried and not looked up.
#pragma once

#include <string>
#include <vector>

namespace lastref::harness::warden {

struct Diagnosis {
  std::string what;
  bool works = false;
  std::string lost;    ///< What is not to be had without it
  std::string remedy;  ///< What to do about it
};

/// Each in a process of its own.
std::vector<Diagnosis> diagnose();

/// Only what all else is for: whether a program can be watched from its start to its end.
bool watches_here();

}  // namespace lastref::harness::warden
