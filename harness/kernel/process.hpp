// process: the processes of a kernel run, and what runs in them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lastref/kernel_os.hpp>

#include "harness/instrument/instrumented_os.hpp"
#include "harness/kernel/kernel_world.hpp"
#include "harness/kernel/serial_interceptor.hpp"
#include "harness/scenario/ambient.hpp"
#include "harness/scenario/finding.hpp"

namespace lastref::harness {

inline constexpr const char* this_program = "/proc/self/exe";

/// What every process of a run knows, being a fork of the server.
struct RunContext {
  SharedRun& run;
  const std::vector<EntryPoint>& entries;
  std::string files;      ///< the scenario's folder
  std::string spare;      ///< where temporary files go
  std::string elsewhere;  ///< an empty folder of the sandbox's
  bool has_walls;         ///< /dev/shm is the run's own.
  const Scenario* scenario = nullptr;
  std::span<const Fault> faults = {};  ///< that are planned
  const Ambient* ambient = nullptr;    ///< nothing: processes are forks of the server's
  /// In the ambient of two trees: the folder of the one that is not the scenario's, and whether it
  /// is being made.
  std::string second_tree = {};
  bool makes_second_tree = false;
  /// For the controller: a folder, below which is what the run has made on shared memory.
  std::string watched = {};

  bool plays_in(std::string_view name) const noexcept {
    return ambient != nullptr && ambient->name == name;
  }
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

/// The life of a process of the run, once it is as it is meant to be: waits for its turn, does what
/// it was born for, and ends. `wrong` is what is not as it was meant to be.
[[noreturn]] void play(RunContext& context,
                       std::uint16_t process,
                       ActorId actor,
                       const Birth& birth,
                       const std::optional<Finding>& wrong = {});

/// As signal_bit has them.
std::uint64_t bits_of(std::span<const os::Signal> signals) noexcept;

/// Forks, and executes this program again in an ambient. The child waits for its turn, and never
/// comes back here. The pid, or what fork said.
///
/// Errors          resource_unavailable_try_again, not_enough_memory: no process.
/// Crossings       none; it is below the interceptor.
Result<os::Pid> give_birth(RunContext& context, std::uint16_t parent, const Birth& birth);

/// Keeps what a process is called by the one that has just started it, and in the world.
void be_known_as(RunContext& context, std::uint16_t process, os::Pid pid) noexcept;

/// The real operating system, whose processes are forks with an instrumented Os of their own.
class ForkingOs final : public os::KernelOs {
 public:
  /// `interceptor` is that of the process that it lives in.
  ForkingOs(RunContext& context, SerialInterceptor& interceptor) noexcept
      : KernelOs({.program = this_program}), context_(context), interceptor_(interceptor) {}

  Result<os::Child> spawn(const os::SpawnOptions& options) noexcept override;
  /// What is said is a file of the world's, for which no limit holds.
  Result<std::size_t> write(os::Fd fd, os::Bytes bytes) noexcept override;

 private:
  /// As the product's spawn does it for everybody, but that the program finds its way to the run.
  Result<os::Child> execute(const os::SpawnOptions& options, const Birth& birth) noexcept;

  RunContext& context_;
  SerialInterceptor& interceptor_;
};

}  // namespace lastref::harness
