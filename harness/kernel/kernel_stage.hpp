// KernelStage: the Stage of a process of a kernel run, gated or not.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/kernel/kernel_limits.hpp"
#include "harness/kernel/kernel_outside.hpp"
#include "harness/kernel/process.hpp"
#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

class KernelStage final : private OperationLog, public Stage {
 public:
  /// `os` is that of the process. It is `instrumented` in a gated run; nullptr otherwise.
  KernelStage(RunContext& context,
              RunMember& member,
              os::Os& os,
              InstrumentedOs* instrumented,
              std::span<const std::string> arguments);

  Outside& outside() noexcept override { return outside_; }
  Limits& limits() noexcept override { return limits_; }
  Status start(const std::string& role) override;
  void tell(const std::string& signal) override { member_.tell(signal); }
  bool await(const std::string& signal) override { return member_.await(signal); }
  void send(const std::string& signal, const std::string& bytes) override {
    member_.send(signal, bytes);
  }
  Result<std::string> receive(const std::string& signal) override;
  void work_in(const std::string& folder) override;
  bool hears_signals() const noexcept override;
  void stop(const std::string& role) override { member_.stop(role); }
  bool resume(const std::string& role) override { return member_.resume(role); }
  void kill(const std::string& role) override { member_.kill(role); }
  void interrupt_all() override { member_.interrupt_all(); }
  std::size_t processes(const std::string& role) override { return member_.processes(role); }
  bool fork_stranger(std::function<Status()> body) override;
  /// Unknown in an ungated run, as its processes may be sanitized.
  std::optional<std::uint64_t> heap_in_use() override;
  std::uint64_t mapped() override;
  bool is_undisturbed() const noexcept override;
  void refute(const std::string& claim, const std::string& seen) override;

  /// Records how the body of the role has ended.
  void note_end(const Status& status);

 private:
  void note(std::string_view operation, const std::string& text, bool begins, int error) override;
  void look_around();

  RunContext& context_;
  RunMember& member_;
  InstrumentedOs* instrumented_;
  KernelOutside outside_;
  KernelLimits limits_;
  std::uint64_t blocked_;  ///< by the role's own thread; signal_bit
  bool has_looked_around_ = false;
  std::unique_ptr<tracker::Client> second_;
};

}  // namespace lastref::harness
