// KeptCalls: calls that are held until a condition is met. Meanwhile the names of the tree can be
// examined, or one of its programs can be queried.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "harness/warden/fault_injector.hpp"
#include "harness/warden/names_ledger.hpp"
#include "harness/warden/notifier.hpp"
#include "harness/warden/process_names.hpp"

namespace lastref::harness::warden {

/// A call that has stopped, and the names of its tree at that time.
struct Moment {
  const CallSeen& call;
  int process = 0;
  const NamesLedger& names;
};

/// Called when a call stops, and repeatedly until it returns true; then the call is made. All other
/// calls proceed meanwhile.
using MayBeMade = std::function<bool(const Moment&)>;

struct KeptCall {
  Notification call;
  CallSeen seen;
};

class KeptCalls {
 public:
  /// Without `may_be_made`, all calls are made at once.
  explicit KeptCalls(const MayBeMade& may_be_made) noexcept : may_be_made_(may_be_made) {}

  bool empty() const noexcept { return kept_.empty(); }
  /// Whether the call has to wait.
  bool keep(const KeptCall& each, const ProcessSeen& caller, const NamesLedger& names);
  /// A call that need not wait any longer: it may be made, or its thread no longer waits for it.
  std::optional<KeptCall> next(ProcessNames& roles,
                               const Notifier& notifier,
                               const NamesLedger& names);

 private:
  const MayBeMade& may_be_made_;
  std::vector<KeptCall> kept_;
};

}  // namespace lastref::harness::warden
