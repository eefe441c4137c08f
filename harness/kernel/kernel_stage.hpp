// KernelStage: the Stage of a process of a kernel run.
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
  KernelStage(RunContext& context,
              SerialInterceptor& interceptor,
              InstrumentedOs& os,
              std::span<const std::string> arguments);

  Outside& outside() noexcept override { return outside_; }
  Limits& limits() noexcept override { return limits_; }
  Status start(const std::string& role) override;
  void tell(const std::string& signal) override { interceptor_.tell(signal); }
  bool await(const std::string& signal) override { return interceptor_.await(signal); }
  void send(const std::string& signal, const std::string& bytes) override {
    interceptor_.send(signal, bytes);
  }
  Result<std::string> receive(const std::string& signal) override;
  void work_in(const std::string& folder) override;
  bool hears_signals() const noexcept override;
  void stop(const std::string& role) override;
  bool resume(const std::string& role) override;
  void kill(const std::string& role) override;
  void interrupt_all() override;
  std::size_t processes(const std::string& role) override;
  bool fork_stranger(std::function<Status()> body) override;
  std::optional<std::uint64_t> heap_in_use() override;
  std::uint64_t mapped() override { return os_.mapped(); }
  bool is_undisturbed() const noexcept override;
  void refute(const std::string& claim, const std::string& seen) override;

  /// Records how the body of the role has ended.
  void note_end(const Status& status);

 private:
  void note(std::string_view operation, const std::string& text, bool begins, int error) override;
  void look_around();

  RunContext& context_;
  SerialInterceptor& interceptor_;
  InstrumentedOs& os_;
  KernelOutside outside_;
  KernelLimits limits_;
  std::uint64_t blocked_;  ///< by the role's own thread; signal_bit
  bool has_looked_around_ = false;
  std::unique_ptr<tracker::Client> second_;
};

}  // namespace lastref::harness
