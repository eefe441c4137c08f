// kernel_world_process: the processes of a kernel run, and what runs in them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <lastref/kernel_os.hpp>

#include "harness/explore/kernel_world.hpp"
#include "harness/instrument/instrumented_os.hpp"
#include "harness/instrument/serial_gate.hpp"

namespace lastref::harness {

/// What every process of a run knows, being a fork of the server.
struct RunContext {
  SharedRun& run;
  const std::vector<EntryPoint>& entries;
  std::string files;  ///< the scenario's folder
  std::string spare;  ///< where temporary files go
  bool has_walls;     ///< /dev/shm is the run's own.
  const Scenario* scenario = nullptr;
};

/// What a new process shall do: an entry point, or a role of the scenario.
struct Birth {
  std::string role;
  const EntryPoint* entry = nullptr;   ///< nothing for a role
  std::vector<std::string> arguments;  ///< for a role: first the tree that its parent is in, if any
  std::vector<os::PassedFd> fds;
  std::vector<os::Signal> blocked;
  std::vector<std::pair<std::string, std::string>> environment = {};
};

/// Forks. The child waits for its turn, and never comes back here. The pid, or what fork said.
///
/// Errors          resource_unavailable_try_again, not_enough_memory: no process.
/// Crossings       none; it is below the gate.
Result<os::Pid> give_birth(RunContext& context, std::uint16_t parent, const Birth& birth);

/// The real operating system, whose processes are forks with an instrumented Os of their own.
class ForkingOs final : public os::KernelOs {
 public:
  /// `gate` is that of the process that it lives in.
  ForkingOs(RunContext& context, SerialGate& gate) noexcept : context_(context), gate_(gate) {}

  Result<os::Child> spawn(const os::SpawnOptions& options) noexcept override;
  /// What is said is a file of the world's, for which no limit holds.
  Result<std::size_t> write(os::Fd fd, os::Bytes bytes) noexcept override;

 private:
  RunContext& context_;
  SerialGate& gate_;
};

}  // namespace lastref::harness
