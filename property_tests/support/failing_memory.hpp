// failing_memory: fails each allocation of a workload in turn: only that one, or all from it on.
//
// A program that links this source has an operator new that fails on demand. The workload runs in a
// child process, once for each of its allocations. A run that terminates the process is a finding,
// with the stack of the allocation that failed, and another child continues.
//
// A trial prepares what it needs, has `armed` run the tested code, and checks the result: each
// error is not_enough_memory, and the same call works afterwards. The runner checks that the trial
// leaves no memory, descriptor, map or thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <lastref/kernel_os.hpp>
#include <lastref/references.hpp>

#include "harness/instrument/every_call.hpp"

namespace lastref::pretend {

/// In its scope, no allocation of this thread fails or is counted.
class SparedMemory {
 public:
  SparedMemory() noexcept;
  SparedMemory(const SparedMemory&) = delete;
  SparedMemory& operator=(const SparedMemory&) = delete;
  ~SparedMemory();

 private:
  bool before_;
};

/// Runs the tested code. A trial may call it several times.
using Armed = std::function<void(const std::function<void()>& tested)>;
/// What is wrong; empty if nothing is.
using Trial = std::function<std::string(const Armed& armed)>;

struct TrialOptions {
  /// One of this many allocations is failed.
  std::uint64_t stride = 1;
  /// Whether all threads have ended and returned their memory when a trial ends. A thread that
  /// reaps a process ends a little later.
  bool threads_have_ended = true;
};

/// Fails each allocation of the trial. A finding is a failed test.
void fail_each_allocation(const Trial& trial, TrialOptions options = {});

/// Called in a separate process: its allocations fail from now on, or one does, counted from here.
void fail_from_now_on(std::uint64_t number, bool and_all_after_it);
/// From now on `count` allocations of this process fail, starting with number `first`.
void fail_allocations_here(std::uint64_t first, std::uint64_t count) noexcept;
/// The number of allocations since then.
std::uint64_t allocations_here() noexcept;

/// "" if the call worked, or failed for lack of memory; else its error.
std::string unless_no_memory(const Status& status);

/// The kernel; its own allocations do not fail.
class SparedOs final : public harness::EveryCall<SparedOs> {
 public:
  explicit SparedOs(os::KernelOptions options = {}) : kernel_(std::move(options)) {}

  template <Call call, typename... Given>
  harness::AnswerOf<call> every(Given&&... given) noexcept {
    const SparedMemory spared;
    return harness::CallOf<call>::make(kernel_, std::forward<Given>(given)...);
  }

  /// Threads of the library itself do not run out of memory either.
  Result<std::unique_ptr<os::Thread>> start_thread(
      std::function<void()> body, os::ThreadKind kind = os::ThreadKind::ours) noexcept override;
  std::uint64_t process_token() noexcept override { return kernel_.process_token(); }
  std::unique_ptr<os::Monitor> make_monitor() noexcept override {
    const SparedMemory spared;
    return kernel_.make_monitor();
  }
  std::unique_ptr<os::ExitHook> at_exit(std::function<void()> action) noexcept override {
    const SparedMemory spared;
    return kernel_.at_exit(std::move(action));
  }
  os::ProcessObjects& objects() noexcept override {
    const SparedMemory spared;
    return kernel_.objects();
  }
  void hide_from_children(std::span<const os::Fd> fds,
                          const std::string& variable) noexcept override {
    const SparedMemory spared;
    kernel_.hide_from_children(fds, variable);
  }

 private:
  os::KernelOs kernel_;
};

/// The references of another object; its own allocations do not fail.
class SparedReferences final : public References {
 public:
  explicit SparedReferences(std::shared_ptr<References> inner) noexcept
      : inner_(std::move(inner)) {}

  using References::register_name;
  Status register_name(const Resource& resource, const std::optional<Identity>& identity) override {
    const SparedMemory spared;
    return inner_->register_name(resource, identity);
  }
  Status identify(const Resource& resource, const std::optional<Identity>& identity) override {
    const SparedMemory spared;
    return inner_->identify(resource, identity);
  }
  Status hold(const Resource& resource) override {
    const SparedMemory spared;
    return inner_->hold(resource);
  }
  Status release(const Resource& resource) override {
    const SparedMemory spared;
    return inner_->release(resource);
  }
  Status forget(const Resource& resource) override {
    const SparedMemory spared;
    return inner_->forget(resource);
  }
  bool is_attributed() const noexcept override { return inner_->is_attributed(); }

 private:
  std::shared_ptr<References> inner_;
};

}  // namespace lastref::pretend
