// KernelStage: the Stage of a process of a kernel run.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/kernel/process.hpp"
#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

class KernelStage final : public Stage {
 public:
  KernelStage(RunContext& context,
              SerialGate& gate,
              InstrumentedOs& os,
              std::span<const std::string> arguments);

  os::Os& os() noexcept override { return os_; }
  const std::string& role() const noexcept override { return role_; }
  std::span<const std::string> arguments() const noexcept override { return arguments_; }
  const std::string& folder() const noexcept override { return context_.files; }
  Status start(const std::string& role) override;
  void tell(const std::string& word) override { gate_.tell(word); }
  bool await(const std::string& word) override { return gate_.await(word); }
  void send(const std::string& word, const std::string& bytes) override { gate_.send(word, bytes); }
  std::optional<std::string> receive(const std::string& word) override {
    return gate_.receive(word);
  }
  void stop(const std::string& role) override;
  bool resume(const std::string& role) override;
  void kill(const std::string& role) override;
  void interrupt_all() override;
  std::size_t processes(const std::string& role) override;
  bool fork_stranger(std::function<void()> body) override;
  bool is_undisturbed() const noexcept override;
  void refute(const std::string& claim, const std::string& seen) override;

  // outside.cpp
  const std::string& spare_folder() const noexcept override { return context_.spare; }
  bool limit_storage(std::uint64_t bytes, std::uint64_t inodes) override;
  void free_storage() override;
  void limit_file_size(std::uint64_t bytes) override;
  bool obey_modes() override;
  void change_mode(const std::string& path, std::uint32_t mode) override;
  bool outside_unlink(const std::string& path) override;
  bool outside_rmdir(const std::string& path) override;
  bool outside_make_folder(const std::string& path, std::uint32_t mode) override;
  bool outside_symlink(const std::string& target, const std::string& path) override;
  bool outside_write(const std::string& path, const std::string& bytes) override;
  bool reuse_pid(os::Pid pid) override;
  std::vector<std::string> outside_list(const std::string& folder) override;

 protected:
  void note(std::string_view word, const std::string& text, bool begins, int error) override;
  std::string tree_of_parent() const override {
    return arguments_.empty() ? std::string() : arguments_.front();
  }

 private:
  void look_around();

  RunContext& context_;
  SerialGate& gate_;
  InstrumentedOs& os_;
  std::string role_;
  std::span<const std::string> arguments_;
  bool has_looked_around_ = false;
  std::unique_ptr<tracker::Client> second_;
};

}  // namespace lastref::harness
