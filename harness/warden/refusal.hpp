// Refusal: a call that is denied to watched processes, and the process that made it. The error is
// one that a kernel returns itself: ENOSYS without the feature, EBUSY for a second listener.
#pragma once

#include <string>

#include "harness/warden/notifier.hpp"
#include "harness/warden/process_names.hpp"

namespace lastref::harness::warden {

struct Refusal {
  std::string role;
  std::string title;
  std::string executable;  ///< Empty: not visible.
  std::string call;        ///< "seccomp"; "call 20" of another ABI, which uses other names
  std::string why;
  int error = 0;
  bool operator==(const Refusal&) const = default;
};

/// For a call that the filter stops and that is in no row of the table.
Refusal refusal_of(const Notification& call, const ProcessSeen& who);

/// On one line.
std::string to_text(const Refusal& refusal);

}  // namespace lastref::harness::warden
