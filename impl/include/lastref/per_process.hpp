// PerProcess: an object that exists once per process; a forked child has its own.
//
// A fork copies the intermediate states of the parent's other threads: a monitor that is locked and
// never unlocked in the child, or a map that is half changed. So a child neither uses nor destroys
// its parent's object. It creates a new object, or does without one. The parent's object stays
// where it is until the child ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <lastref/os.hpp>

namespace lastref::os {

/// T is constructed from an Os&. May be used from any thread.
template <typename T>
class PerProcess {
 public:
  /// Creates the object of the calling process at once.
  explicit PerProcess(Os& os) : os_(os) { static_cast<void>(here()); }
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;
  ~PerProcess() {
    if (find() != nullptr) {
      std::unique_ptr<Each>(newest_.load());
    }
  }

  /// Returns the object of the calling process. Null in a child that has not created one.
  T* find() const noexcept {
    Each* const newest = newest_.load();
    return newest != nullptr && newest->process == os_.process_token() ? &newest->thing : nullptr;
  }

  /// As find, but creates the object if there is none.
  T& here() const {
    const std::uint64_t process = os_.process_token();
    Each* newest = newest_.load();
    while (newest == nullptr || newest->process != process) {
      auto made = std::make_unique<Each>(os_, process, newest);
      if (newest_.compare_exchange_strong(newest, made.get())) {
        return made.release()->thing;
      }
    }
    return newest->thing;
  }

 private:
  struct Each {
    Each(Os& os, std::uint64_t its_process, Each* its_parents)
        : process(its_process), thing(os), parents(its_parents) {}

    std::uint64_t process;
    T thing;
    Each* parents;  ///< The parent process's object. Kept only for leak checkers.
  };

  Os& os_;
  mutable std::atomic<Each*> newest_ = nullptr;
};

}  // namespace lastref::os
