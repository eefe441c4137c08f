// free process: the code that runs in the processes of an ungated run.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lastref/kernel_os.hpp>

#include "harness/kernel/kernel_world.hpp"
#include "harness/stress/board.hpp"

namespace lastref::harness {

/// The verb with which this program is executed to be a process of an ungated run. For internal
/// use.
inline constexpr const char* stressed_argument = "process-of-an-ungated-run";

/// What every process of an ungated run knows.
struct FreeContext {
  Board& board;
  const Scenario& scenario;
  const std::vector<EntryPoint>& entries;
  std::string files;  ///< the scenario's folder
  std::string spare;  ///< where temporary files go
};

/// The unmodified operating system. The processes that it starts belong to the same run and its
/// board.
class FreeOs final : public os::KernelOs {
 public:
  explicit FreeOs(const FreeContext& context) noexcept
      : KernelOs({.program = "/proc/self/exe"}), context_(context) {}

  Result<os::Child> spawn(const os::SpawnOptions& options) noexcept override;
  /// Registers a thread's wait on the board if its time limit ends soon.
  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override;
  /// Marks the process on the board: a kill by the product is no crash.
  Status signal_process(os::Fd process, os::Signal signal) noexcept override;

 private:
  const FreeContext& context_;
};

/// Becomes such a process: `arguments` are those after the verb. If no world has started it, it
/// reports that.
int become_process_of_ungated_run(std::span<const char* const> arguments,
                                  const std::vector<Scenario>& scenarios,
                                  const std::vector<EntryPoint>& entries);

}  // namespace lastref::harness
