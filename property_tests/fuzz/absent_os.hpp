// AbsentOs: an Os on which nothing exists. Every call fails; a target overrides what its parser may
// need, so that any other call that an input causes does no harm.
#pragma once

#include <memory>
#include <string>

#include <lastref/os.hpp>
#include <lastref/process_objects.hpp>

#include "harness/instrument/every_call.hpp"

namespace lastref::fuzz {

/// For one thread.
class AloneMonitor final : public os::Monitor {
 public:
  void lock() noexcept override {}
  void unlock() noexcept override {}
  void wait() noexcept override {}
  void notify_all() noexcept override {}
};

class AbsentOs : public harness::EveryCall<AbsentOs> {
 public:
  template <Call call, typename... Given>
  harness::AnswerOf<call> every(Given&&...) noexcept {
    if constexpr (harness::can_fail<call>) {
      return failure(std::errc::function_not_supported, "there is nothing");
    } else {
      return {};
    }
  }

  os::Pid process_id() noexcept override { return 1; }
  std::uint64_t process_token() noexcept override { return 1; }
  os::Pid thread_id() noexcept override { return 1; }
  unsigned processors() noexcept override { return 1; }
  void hide_from_children(std::span<const os::Fd>, const std::string&) noexcept override {}
  std::unique_ptr<os::Monitor> make_monitor() noexcept override {
    return std::make_unique<AloneMonitor>();
  }
  std::unique_ptr<os::ExitHook> at_exit(std::function<void()>) noexcept override { return nullptr; }
  os::ProcessObjects& objects() noexcept override { return objects_.of(*this, 0); }

 private:
  os::GenerationsOfObjects objects_;
};

}  // namespace lastref::fuzz
