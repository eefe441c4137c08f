#include "harness/warden/sysv_makers.hpp"

#include <algorithm>
#include <utility>

namespace lastref::harness::warden {

void SysvMakers::makes(SysvCall call) {
  match();
  calls_.push_back(std::move(call));
}

void SysvMakers::settle(int thread) {
  if (std::ranges::find(calls_, thread, &SysvCall::thread) != calls_.end()) {
    match();
    std::erase_if(calls_, [thread](const SysvCall& each) { return each.thread == thread; });
  }
}

void SysvMakers::match() {
  if (calls_.empty()) {
    return;
  }
  for (const auto& [name, object] : sysv_objects()) {
    if (!known_.emplace(name, object).second) {
      continue;
    }
    const auto call = std::ranges::find_if(calls_, [&](const SysvCall& each) {
      return name.starts_with(each.kind) && each.key == object.key &&
             (object.maker == 0 || object.maker == each.process);
    });
    if (call != calls_.end()) {
      makers_[name] = call->maker;
      calls_.erase(call);
    }
  }
}

std::vector<Leftover> SysvMakers::leftovers() {
  match();
  calls_.clear();
  std::vector<Leftover> all;
  if (makers_.empty()) {
    return all;
  }
  const auto existing = sysv_objects();
  for (const auto& [name, maker] : makers_) {
    if (existing.contains(name)) {
      all.push_back({.path = name, .kind = "System V", .maker = maker});
    }
  }
  return all;
}

}  // namespace lastref::harness::warden
