// FreeStage: the Stage of a process of an ungated run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/kernel/kernel_outside.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/stress/free_process.hpp"

namespace lastref::harness {

/// Nothing is limited: a scenario that requests a limit is left out.
class FreeLimits final : public Limits {
 public:
  explicit FreeLimits(Board& board) noexcept : board_(board) {}

  bool storage(std::uint64_t bytes, std::uint64_t inodes) override;
  void free_storage() override {}
  bool copying_storage(std::uint64_t bytes) override;
  bool descriptors(const std::string& role, int more) override;
  void file_size(std::uint64_t bytes) override;
  bool obey_modes() override;

 private:
  Board& board_;
};

class FreeStage final : private OperationLog, public Stage {
 public:
  FreeStage(const FreeContext& context,
            FreeOs& os,
            std::uint16_t process,
            std::string role,
            std::span<const std::string> arguments);

  Outside& outside() noexcept override { return outside_; }
  Limits& limits() noexcept override { return limits_; }
  Status start(const std::string& role) override;
  void tell(const std::string& signal) override { board_.tell(signal); }
  bool await(const std::string& signal) override;
  void send(const std::string& signal, const std::string& bytes) override {
    board_.send(signal, bytes);
  }
  Result<std::string> receive(const std::string& signal) override;
  void stop(const std::string& role) override;
  bool resume(const std::string& role) override;
  void kill(const std::string& role) override;
  void interrupt_all() override;
  void work_in(const std::string& folder) override;
  bool hears_signals() const noexcept override;
  /// Sanitizers have heaps of their own; without them, the gated worlds check this.
  std::optional<std::uint64_t> heap_in_use() override { return std::nullopt; }
  std::uint64_t mapped() override;
  std::size_t processes(const std::string& role) override;
  bool fork_stranger(std::function<Status()> body) override;
  bool is_undisturbed() const noexcept override { return !board_.is_disturbed(); }
  void refute(const std::string& claim, const std::string& seen) override;

 private:
  bool is_anybody_dying();
  bool is_anybody_being_born();
  void note(std::string_view operation, const std::string& text, bool begins, int error) override;

  Board& board_;
  FreeOs& os_;
  std::uint16_t process_;
  KernelOutside outside_;
  FreeLimits limits_;
  std::uint64_t blocked_;
};

}  // namespace lastref::harness
