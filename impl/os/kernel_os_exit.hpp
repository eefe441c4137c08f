// kernel_os_exit: actions for the end of a process, in a list that any Os can have.
//
// A hook owns its action, and the list only refers to the hook. So the end of a list destroys
// nothing that belongs to a killed process. The mutex is held only for the list, never while an
// action runs or is destroyed: the action may register others, and take them back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <lastref/os.hpp>

namespace lastref::os {

class ExitHooks {
 public:
  ExitHooks() = default;
  ExitHooks(const ExitHooks&) = delete;
  ExitHooks& operator=(const ExitHooks&) = delete;
  ~ExitHooks() = default;

  /// The list outlives the hook. A process is identified by its token.
  std::unique_ptr<ExitHook> add(std::uint64_t process, std::function<void()> action);
  /// Runs the hooks of this process, last first, until none is left. Hooks that a fork copied from
  /// its parent are not run.
  void run(std::uint64_t process) noexcept;

  // For the caller of fork: a child must not find the list in the middle of a change.
  void lock() noexcept { mutex_.lock(); }
  void unlock() noexcept { mutex_.unlock(); }

 private:
  class Hook;
  std::optional<std::function<void()>> take_last(std::uint64_t process);
  void take_back(const Hook& hook) noexcept;

  std::mutex mutex_;
  std::vector<Hook*> hooks_;
};

}  // namespace lastref::os
