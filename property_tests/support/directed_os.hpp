// DirectedOs: a ScriptedOs whose director says which calls fail.
//
// Its pid, its user and its exit are pretended as well. May be used by many threads, one of which
// is the director's.
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
  /// What a call fails with, if it shall.
  using Director = std::function<std::optional<std::errc>(const Crossing&)>;

  DirectedOs();

  Director director;
  std::function<void(const Crossing&)> after;  ///< Told of each call that was made.
  std::function<void(Step)> at_step;           ///< Told of each step, before what it is about.
  // What these calls say, if not what the kernel does.
  std::optional<std::uint64_t> size = {};  ///< Of every file: `status`.
  std::optional<std::uint64_t> free = {};  ///< `free_space`
  std::optional<std::uint64_t> file_system_kind = {};
  /// The same for paths that start so.
  std::map<std::string, std::uint64_t> file_system_kinds;
  os::Pid pid;
  std::uint32_t user;

  /// As the kernel numbers it.
  os::Pid real_pid() noexcept { return kernel_.process_id(); }
  /// What exit(3) does.
  void end();
  std::size_t hooks() const;

  Status close(os::Fd fd) noexcept override;
  Result<os::FileStatus> status(os::Fd fd) noexcept override;
  Result<std::uint64_t> free_space(const std::string& path) noexcept override;
  Result<std::uint64_t> file_system(const std::string& path) noexcept override;
  /// Never waits: the clock goes on by the timeout.
  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override;
  os::Pid process_id() noexcept override { return pid; }
  /// Another one for each pid that is pretended, and for each copy whatever its pid.
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
