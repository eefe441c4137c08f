// CallSites: the site of a call that waits: the functions that have led to it. The same call of a
// program has the same site in each run.
#pragma once

#include <string>
#include <vector>

#include "harness/warden/call_stacks.hpp"
#include "harness/warden/notifier.hpp"

namespace lastref::harness::warden {

/// A function is there once, even if it calls itself. Those of the C library are left out.
struct Site {
  /// "copy+0x24 (a.out)", "a.out+0x1234" without a symbol, or "job.py:12 in main", the last one
  /// first; none: they cannot be read.
  std::vector<std::string> frames = {};
  /// The last one that is not a library's, or the last one
  std::string shown = {};
};

class CallSites {
 public:
  Site of(const Notification& call, int process);

 private:
  CallStacks stacks_;
};

}  // namespace lastref::harness::warden
