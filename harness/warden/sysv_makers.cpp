#include "harness/warden/sysv_makers.hpp"

#include <sys/ipc.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "harness/platform/proc.hpp"

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

std::set<int> SysvMakers::own_semaphores() {
  match();
  std::set<int> own;
  for (const auto& [name, maker] : makers_) {
    if (name.starts_with("sem:") && known_[name].key == IPC_PRIVATE) {
      own.insert(number_in<int>(std::string_view(name).substr(4)).value_or(-1));
    }
  }
  return own;
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
