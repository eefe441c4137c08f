// KeptCalls: calls that wait because somebody wants to look first: at the names of a tree, or at a
// program of it that can be asked, while this call is not made.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "harness/warden/names_ledger.hpp"
#include "harness/warden/notifier.hpp"
#include "harness/warden/roles_of_tree.hpp"
#include "harness/warden/striker.hpp"

namespace lastref::harness::warden {

/// A call that has stopped, and the names of its tree meanwhile.
struct Moment {
  const CallSeen& call;
  int process = 0;
  const NamesLedger& names;
};

/// Asked when a call stops, and again and again until it says yes: then the call is made. All
/// others go on meanwhile.
using MayBeMade = std::function<bool(const Moment&)>;

struct KeptCall {
  Notification call;
  CallSeen seen;
};

class KeptCalls {
 public:
  /// Without `may_be_made`, all are made at once.
  explicit KeptCalls(const MayBeMade& may_be_made) noexcept : may_be_made_(may_be_made) {}

  bool empty() const noexcept { return kept_.empty(); }
  /// Whether the call has to wait.
  bool keep(const KeptCall& each, const ProcessSeen& who, const NamesLedger& names);
  /// One that waits no more: it may be made, or nobody waits for it.
  std::optional<KeptCall> next(RolesOfTree& roles,
                               const Notifier& notifier,
                               const NamesLedger& names);

 private:
  const MayBeMade& may_be_made_;
  std::vector<KeptCall> kept_;
};

}  // namespace lastref::harness::warden
