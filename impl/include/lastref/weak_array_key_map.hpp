// WeakArrayKeyMap: maps array identities to values, without keeping the arrays alive.
//
// An entry is removed with the last handle of its array. While an entry exists, no other array can
// have its identity, whatever its memory. Unlike an address, an identity is never reused while it
// is stored. A forked child starts with an empty map.
// Source: joblib _memmapping_reducer.py, _WeakArrayKeyMap.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <lastref/array.hpp>
#include <lastref/error.hpp>
#include <lastref/os.hpp>
#include <lastref/owners.hpp>
#include <lastref/per_process.hpp>

namespace lastref {

/// May be used from any thread. Values are copied out, and destroyed outside of its lock.
template <typename Value>
class WeakArrayKeyMap {
 public:
  explicit WeakArrayKeyMap(os::Os& os) : state_(std::make_shared<os::PerProcess<State>>(os)) {}

  std::optional<Value> get(const Array& array) const {
    State& state = state_->here();
    const os::MonitorLock held(*state.monitor);
    const auto found = state.entries.find(array.identity());
    return found == state.entries.end() ? std::nullopt : found->second;
  }

  /// Sets the value of the array, and replaces an old one.
  ///
  /// Errors          not_enough_memory: nothing has changed.
  Status set(const Array& array, Value value) {
    return result_within_memory("an array", [&] { return set_here(array, std::move(value)); });
  }

  /// The value that it had.
  std::optional<Value> take(const Array& array) { return take(array.identity()); }
  std::optional<Value> take(const Array::Identity& identity) {
    std::optional<Value> old;
    State& state = state_->here();
    const os::MonitorLock held(*state.monitor);
    if (const auto found = state.entries.find(identity); found != state.entries.end()) {
      std::swap(found->second, old);  // The entry stays: its array already has an action.
    }
    return old;
  }

  /// Number of arrays that have a value.
  std::size_t size() const {
    const State& state = state_->here();
    const os::MonitorLock held(*state.monitor);
    std::size_t count = 0;
    for (const auto& [identity, value] : state.entries) {
      count += value ? 1U : 0U;
    }
    return count;
  }

 private:
  using Identity = Array::Identity;
  using Entries = std::map<Identity, std::optional<Value>, std::owner_less<Identity>>;

  Status set_here(const Array& array, Value value) {
    // First all that takes memory: when that fails, nothing has changed.
    Entries made;
    made.try_emplace(array.identity(), std::move(value));
    bool is_new = false;
    {
      const State& state = state_->here();
      const os::MonitorLock held(*state.monitor);
      is_new = !state.entries.contains(array.identity());
    }
    if (is_new) {
      LASTREF_CHECK(array.when_gone(
          [identity = array.identity(), states = std::weak_ptr(state_)] {
            const auto alive = states.lock();
            if (State* const state = alive ? alive->find() : nullptr) {
              state->remove(identity);
            }
          },
          state_));
    }
    State& state = state_->here();
    const os::MonitorLock held(*state.monitor);
    if (const auto found = state.entries.find(array.identity()); found != state.entries.end()) {
      std::swap(found->second, made.begin()->second);
    } else {
      state.entries.merge(made);
    }
    return ok();
  }

  struct State {
    explicit State(os::Os& os) : monitor(os.make_monitor()) {}

    void remove(const Identity& identity) {
      std::optional<Value> old;
      const os::MonitorLock held(*monitor);
      if (const auto found = entries.find(identity); found != entries.end()) {
        std::swap(found->second, old);
        entries.erase(found);
      }
    }

    std::unique_ptr<os::Monitor> monitor;
    Entries entries LASTREF_GUARDED_BY(*monitor);
  };

  std::shared_ptr<os::PerProcess<State>> state_;
};

/// Identities are meaningless in another process.
///
/// Errors          not_supported, always.
template <typename Value>
Status encode(const WeakArrayKeyMap<Value>&) {
  return failure(std::errc::not_supported, "a WeakArrayKeyMap is of this process alone");
}

}  // namespace lastref
