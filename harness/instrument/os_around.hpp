// OsAround: an Os that wraps another one of the same process; its calls go to Self::every.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "harness/instrument/every_call.hpp"
#include "impl/os/limits.hpp"

namespace lastref::harness {

/// Methods without a row in calls.def forward to the inner Os.
template <typename Self>
class OsAround : public EveryCall<Self>, public os::LimitedOs {
 public:
  OsAround(const OsAround&) = delete;
  OsAround& operator=(const OsAround&) = delete;
  ~OsAround() override = default;

  std::uint64_t process_token() noexcept override { return inner_.process_token(); }
  std::unique_ptr<os::Monitor> make_monitor() noexcept override { return inner_.make_monitor(); }
  std::unique_ptr<os::ExitHook> at_exit(std::function<void()> action) noexcept override {
    return inner_.at_exit(std::move(action));
  }
  os::ProcessObjects& objects() noexcept override { return inner_.objects(); }
  const os::Limits& limits() const noexcept override { return os::limits_of(inner_); }
  void hide_from_children(std::span<const os::Fd> fds,
                          const std::string& variable) noexcept override {
    inner_.hide_from_children(fds, variable);
  }

 protected:
  /// The inner Os may be a member of Self that is not constructed yet.
  explicit OsAround(os::Os& inner) noexcept : inner_(inner) {}

  os::Os& inner() noexcept { return inner_; }

 private:
  os::Os& inner_;
};

}  // namespace lastref::harness
