// Refusal: a call that nobody may make who is watched, and who made it. A kernel that has no such
// thing says the same.
#pragma once

#include <string>

#include "harness/warden/notifier.hpp"
#include "harness/warden/roles_of_tree.hpp"

namespace lastref::harness::warden {

struct Refusal {
  std::string role;
  std::string title;
  std::string executable;  ///< Empty: it cannot be seen.
  std::string call;        ///< "seccomp"; "call 20" of another kind, whose names are others
  std::string why;
  int error = 0;
  bool operator==(const Refusal&) const = default;
};

/// Of a call that the filter stops, and that is in no row of the table.
Refusal refusal_of(const Notification& call, const ProcessSeen& who);

/// On one line.
std::string to_text(const Refusal& refusal);

}  // namespace lastref::harness::warden
