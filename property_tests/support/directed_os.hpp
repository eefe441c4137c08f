// DirectedOs: a ScriptedOs with a director that decides which calls fail.
//
// Its pid, its user and its exit are simulated as well. Several threads may use it, one of which is
// the director's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "property_tests/support/scripted_os.hpp"

namespace lastref::pretend {

class DirectedOs final : public ScriptedOs {
 public:
  /// The code that a call fails with; none if it is made.
  using Director = std::function<std::optional<std::errc>(const Crossing&)>;

  DirectedOs();

  Director director;
  std::function<void(const Crossing&)> after;  ///< Called after each call that was made.
  std::function<void(Step)> at_step;           ///< Called with each step, before the step's action.
  // What these calls return; if empty, what the kernel returns.
  std::optional<std::uint64_t> size = {};  ///< Of every file: `status`.
  std::optional<std::uint64_t> free = {};  ///< `free_space`
  std::optional<std::uint64_t> file_system_kind = {};
  /// The same for paths that start with the key.
  std::map<std::string, std::uint64_t> file_system_kinds;
  os::Pid pid;
  std::uint32_t user;

  /// The pid that the kernel gave.
  os::Pid real_pid() noexcept { return kernel_.process_id(); }
  /// Does what exit(3) does.
  void end();
  std::size_t hooks() const;

  Status close(os::Fd fd) noexcept override;
  Result<os::FileStatus> status(os::Fd fd) noexcept override;
  Result<std::uint64_t> free_space(const std::string& path) noexcept override;
  Result<std::uint64_t> file_system(const std::string& path) noexcept override;
  /// Never waits: the clock advances by the timeout.
  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override;
  os::Pid process_id() noexcept override { return pid; }
  /// Different for each simulated pid, and for each copy whatever its pid.
  std::uint64_t process_token() noexcept override {
    return kernel_.KernelOs::process_token() ^ static_cast<std::uint64_t>(pid);
  }
  std::uint32_t user_id() noexcept override { return user; }
  std::unique_ptr<os::ExitHook> at_exit(std::function<void()> action) noexcept override;
  void step(Step step) noexcept override;
  void touch(const os::WordAccess& access) noexcept override { step(access.step); }

 private:
  struct Hooks;
  class Hook;

  Decision decide(const Crossing& crossing) override;
  bool arrives(const Crossing& crossing, const Decision& decision) override;

  std::shared_ptr<Hooks> hooks_;
};

/// Fails the k-th call from now, from 0, of one kind, or of any.
DirectedOs::Director fail_kth(std::size_t k, std::errc code, Call call = Call::none);

}  // namespace lastref::pretend
