// free process: what runs in the processes of an ungated run.
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

/// The verb by which this program is executed to be a process of an ungated run. Not for people.
inline constexpr const char* stressed_argument = "process-of-an-ungated-run";

/// What every process of an ungated run knows.
struct FreeContext {
  Board& board;
  const Scenario& scenario;
  const std::vector<EntryPoint>& entries;
  std::string files;  ///< the scenario's folder
  std::string spare;  ///< where temporary files go
};

/// The operating system as it is. What it starts are processes of the same run, and on its board.
class FreeOs final : public os::KernelOs {
 public:
  explicit FreeOs(const FreeContext& context) noexcept
      : KernelOs({.program = "/proc/self/exe"}), context_(context) {}

  Result<os::Child> spawn(const os::SpawnOptions& options) noexcept override;
  /// The board is told of each limit of time that a thread waits for, if it ends soon.
  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override;
  /// Who is killed by the product dies of nothing that is wrong.
  Status signal_process(os::Fd process, os::Signal signal) noexcept override;

 private:
  const FreeContext& context_;
};

/// Becomes it: `arguments` are those behind the verb. Where no world has started it, it says so.
int become_process_of_ungated_run(std::span<const char* const> arguments,
                                  const std::vector<Scenario>& scenarios,
                                  const std::vector<EntryPoint>& entries);

}  // namespace lastref::harness
