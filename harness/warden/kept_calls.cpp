#include "harness/warden/kept_calls.hpp"

#include <algorithm>
#include <utility>

namespace lastref::harness::warden {

bool KeptCalls::keep(const KeptCall& each, const ProcessSeen& caller, const NamesLedger& names) {
  const bool waits =
      may_be_made_ && !may_be_made_({.call = each.seen, .process = caller.process, .names = names});
  if (waits) {
    kept_.push_back(each);
  }
  return waits;
}

std::optional<KeptCall> KeptCalls::next(ProcessNames& roles,
                                        const Notifier& notifier,
                                        const NamesLedger& names) {
  const auto found = std::ranges::find_if(kept_, [&](const KeptCall& each) {
    const ProcessSeen* const caller = roles.of(each.call.thread);
    return caller == nullptr || !notifier.is_waiting(each.call.id) ||
           may_be_made_({.call = each.seen, .process = caller->process, .names = names});
  });
  if (found == kept_.end()) {
    return std::nullopt;
  }
  KeptCall call = std::move(*found);
  kept_.erase(found);
  return call;
}

}  // namespace lastref::harness::warden
