// SimStage: the Stage of a process of a simulated run.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/scenario/scenario.hpp"
#include "harness/sim/sim_limits.hpp"
#include "harness/sim/sim_outside.hpp"
#include "harness/sim/sim_run.hpp"

namespace lastref::harness::sim {

// The same paths as in the kernel world.
inline constexpr const char* files_folder = "/dev/shm/world/files";
inline constexpr const char* runtime_folder = "/dev/shm/world/runtime";
inline constexpr const char* spare_folder_of_run = "/dev/shm/world/tmp";

class SimStage final : private OperationLog, public Stage {
 public:
  SimStage(SimRun& run, Member& member, std::span<const std::string> arguments);

  Outside& outside() noexcept override;
  Limits& limits() noexcept override;
  Status start(const std::string& role) override;
  void tell(const std::string& signal) override;
  bool await(const std::string& signal) override;
  void send(const std::string& signal, const std::string& bytes) override;
  Result<std::string> receive(const std::string& signal) override;
  void work_in(const std::string& folder) override;
  bool hears_signals() const noexcept override { return true; }
  void stop(const std::string& role) override;
  bool resume(const std::string& role) override;
  void kill(const std::string& role) override;
  void interrupt_all() override;
  std::size_t processes(const std::string& role) override;
  bool fork_stranger(std::function<Status()>) override { return false; }
  std::optional<std::uint64_t> heap_in_use() override { return std::nullopt; }
  std::uint64_t mapped() override { return member_.os->mapped(); }
  bool is_undisturbed() const noexcept override;
  void refute(const std::string& claim, const std::string& seen) override;

  /// Records how the body of the role has ended.
  void note_end(const Status& status);

 private:
  void note(std::string_view operation, const std::string& text, bool begins, int error) override;
  void deliver(const std::string& role, os::Signal signal);

  SimRun& run_;
  Member& member_;
  SimOutside outside_;
  SimLimiter limits_;
};

}  // namespace lastref::harness::sim
