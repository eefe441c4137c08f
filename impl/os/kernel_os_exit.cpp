#include "impl/os/kernel_os_exit.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

#include <lastref/kernel_os.hpp>

#include "impl/os/kernel_os_token.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::os {

class ExitHooks::Hook final : public ExitHook {
 public:
  Hook(ExitHooks& list, std::uint64_t process, std::function<void()> action)
      : list_(list), process_(process), action_(std::move(action)) {}
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;
  ~Hook() override { list_.take_back(*this); }

  std::uint64_t process() const noexcept { return process_; }
  /// The action may destroy the hook while it runs, so it cannot run in here.
  std::function<void()> take() noexcept { return std::exchange(action_, nullptr); }

 private:
  ExitHooks& list_;
  std::uint64_t process_;
  std::function<void()> action_;
};

std::unique_ptr<ExitHook> ExitHooks::add(std::uint64_t process, std::function<void()> action) {
  LASTREF_ASSERT(action != nullptr);
  auto hook = std::make_unique<Hook>(*this, process, std::move(action));
  const std::scoped_lock held(mutex_);
  hooks_.push_back(hook.get());
  return hook;
}

void ExitHooks::take_back(const Hook& hook) noexcept {
  const std::scoped_lock held(mutex_);
  std::erase(hooks_, &hook);
}

std::optional<std::function<void()>> ExitHooks::take_last(std::uint64_t process) {
  const std::scoped_lock held(mutex_);
  const auto last = std::find_if(
      hooks_.rbegin(), hooks_.rend(), [&](const Hook* hook) { return hook->process() == process; });
  if (last == hooks_.rend()) {
    return std::nullopt;
  }
  Hook* const hook = *last;
  hooks_.erase(std::next(last).base());
  return hook->take();
}

void ExitHooks::run(std::uint64_t process) noexcept {
  while (const auto action = take_last(process)) {
    // An action that lacks memory ends, and the others run.
    static_cast<void>(had_memory(*action));
  }
}

namespace {

/// The hooks of this program. Never destroyed: static objects may have hooks.
ExitHooks& hooks_of_program() noexcept {
  alignas(ExitHooks) static std::array<std::byte, sizeof(ExitHooks)> place;
  static ExitHooks& hooks = *new (place.data()) ExitHooks();
  return hooks;
}

/// From now on a forked child finds the list consistent. If the C library has no memory for the
/// handlers, the next hook tries it again. pthread_atfork(3)
void guard_against_fork() noexcept {
  static bool is_guarded = false;
  ExitHooks& hooks = hooks_of_program();
  hooks.lock();
  if (!is_guarded) {
    is_guarded = ::pthread_atfork([] { hooks_of_program().lock(); },
                                  [] { hooks_of_program().unlock(); },
                                  [] { hooks_of_program().unlock(); }) == 0;
  }
  hooks.unlock();
}

/// Whether exit(3) will call run_hooks. A forked child inherits both.
std::atomic<bool> awaits_exit = false;

void run_hooks() noexcept {
  awaits_exit = false;  // Hooks that static objects register from now on need another call.
  hooks_of_program().run(token_of_process());
}

}  // namespace

std::unique_ptr<ExitHook> KernelOs::at_exit(std::function<void()> action) {
  guard_against_fork();
  auto hook = hooks_of_program().add(token_of_process(), std::move(action));
  if (!awaits_exit.exchange(true) && std::atexit(run_hooks) != 0) {
    // Another thread's exit(3) has already run its last action: this action is too late, as after
    // _exit(2).
    awaits_exit = false;
  }
  return hook;
}

}  // namespace lastref::os
