// process: the processes of a kernel run, and the code that they execute.
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
#include "harness/kernel/ungated_member.hpp"
#include "harness/scenario/ambient.hpp"
#include "harness/scenario/finding.hpp"
#include "harness/scenario/product_limits.hpp"

namespace lastref::harness {

inline constexpr const char* this_program = "/proc/self/exe";

/// What every process of a run knows, because it is a fork of the server or was executed with it.
struct RunContext {
  SharedRun& run;
  const std::vector<EntryPoint>& entries;
  std::string files;      ///< the scenario's folder
  std::string spare;      ///< where temporary files go
  std::string elsewhere;  ///< an empty folder in the sandbox
  bool is_isolated;       ///< The run has its own /dev/shm.
  const Scenario* scenario = nullptr;
  std::span<const Fault> faults = {};               ///< the planned ones
  std::span<const ParameterValue> parameters = {};  ///< of the plan
  const Ambient* ambient = nullptr;  ///< nullptr: processes of a gated run are forks of the server
  /// In the ambient of two trees: the folder of the tree that does not belong to the scenario, and
  /// whether it is being made.
  std::string second_tree = {};
  bool makes_second_tree = false;
  /// For the controller: the folder that contains what the run has made on shared memory.
  std::string watched = {};

  bool plays_in(std::string_view name) const noexcept {
    return ambient != nullptr && ambient->name == name;
  }
};

/// The place of a new process in its run.
struct SpawnedProcess {
  std::uint16_t process = 0;
  ActorId actor = 0;
  bool by_scenario = false;  ///< By the scenario: its ambient is applied, not inherited.
};

/// The task of a new process: an entry point, or a role of the scenario.
struct SpawnRequest {
  std::string role;
  const EntryPoint* entry = nullptr;   ///< nullptr for a role
  std::vector<std::string> arguments;  ///< for a role: first the tree that its parent is in, if any
  std::vector<os::PassedFd> fds;
  std::vector<os::Signal> blocked;
  std::vector<std::pair<std::string, std::string>> environment = {};
};

/// The life of a process of the run after it was set up: waits for its turn, performs its task, and
/// exits. `wrong` is a broken promise about its inherited state.
[[noreturn]] void play(RunContext& context,
                       std::uint16_t process,
                       ActorId actor,
                       const SpawnRequest& request,
                       const std::optional<Finding>& wrong = {});

/// The same in an ungated run: it waits for no turn, and exits as every program does.
[[noreturn]] void play_ungated(RunContext& context,
                               std::uint16_t process,
                               const SpawnRequest& request);

/// As signal_bit values.
std::uint64_t bits_of(std::span<const os::Signal> signals) noexcept;

/// Forks, and in an ambient executes this program again. The child waits for its turn, and never
/// returns here. Returns the pid, or the error of fork.
///
/// Errors          resource_unavailable_try_again, not_enough_memory: no process.
/// Crossings       none; it is below the interceptor.
Result<os::Pid> spawn_process(RunContext& context,
                              std::uint16_t parent,
                              const SpawnRequest& request);

/// Records the pid of a process as its starter sees it, and in the world's namespace.
void publish_pid(RunContext& context, std::uint16_t process, os::Pid pid) noexcept;

/// The real operating system; its processes are forks with an instrumented Os of their own. In an
/// ambient, and in an ungated run, they execute this program again.
class ForkingOs : public os::KernelOs {
 public:
  /// `member` is the process that contains this object.
  ForkingOs(RunContext& context, RunMember& member) noexcept
      : KernelOs({.program = this_program}), context_(context), member_(member) {}

  Result<os::Child> spawn(const os::SpawnOptions& options) noexcept override;
  /// Standard output and standard error are files of the world, to which no limit applies.
  Result<std::size_t> write(os::Fd fd, os::Bytes bytes) noexcept override;

 private:
  /// Spawns as the product does for any program, but such that the program joins the run.
  Result<os::Child> execute(const os::SpawnOptions& options, const SpawnRequest& request) noexcept;
  /// Adds a process to the run. Absent: an ungated run has no room for more.
  std::optional<SpawnedProcess> announce(const std::string& role) noexcept;
  /// It could not be started.
  void withdraw(const SpawnedProcess& born) noexcept;

  RunContext& context_;
  RunMember& member_;
};

/// The Os of a process of an ungated run: the unmodified operating system.
class UngatedOs final : public ForkingOs, public os::LimitedOs {
 public:
  UngatedOs(RunContext& context, UngatedMember& member) noexcept
      : ForkingOs(context, member), member_(member), limits_(limits_in(context.parameters)) {}

  /// Notes a wait if its time limit ends soon.
  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override;
  /// Notes the signal: a kill by the product is no crash.
  Status signal_process(os::Fd process, os::Signal signal) noexcept override;
  const os::Limits& limits() const noexcept override { return limits_; }

 private:
  UngatedMember& member_;
  const os::Limits& limits_;
};

}  // namespace lastref::harness
