// KernelStage: the Stage of a process of a kernel run.
#pragma once

#include <string>

#include "harness/explore/kernel_world_process.hpp"
#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

class KernelStage final : public Stage {
 public:
  KernelStage(RunContext& context, SerialGate& gate, InstrumentedOs& os, std::string tree);

  os::Os& os() noexcept override { return os_; }
  const std::string& role() const noexcept override { return role_; }
  const std::string& folder() const noexcept override { return context_.files; }
  Status start(const std::string& role) override;
  void tell(const std::string& word) override { gate_.tell(word); }
  bool await(const std::string& word) override { return gate_.await(word); }
  void stop(const std::string& role) override;
  bool resume(const std::string& role) override;
  void kill(const std::string& role) override;
  bool fork_stranger(std::function<void()> body) override;
  void refute(const std::string& claim, const std::string& seen) override;

 protected:
  void note(std::string_view word, const std::string& text, bool begins, int error) override;
  std::string tree_of_parent() const override { return tree_; }

 private:
  RunContext& context_;
  SerialGate& gate_;
  InstrumentedOs& os_;
  std::string role_;
  std::string tree_;
};

}  // namespace lastref::harness
