// exec_handoff: how a process that was executed for a run learns its identity, and how its ambient
// is applied to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/kernel/process.hpp"

namespace lastref::harness {

/// Everything that an executed process must be told; no argument contains a NUL.
std::vector<std::string> arguments_of(const SpawnedProcess& spawned,
                                      const RunContext& context,
                                      const SpawnRequest& request);

/// Executes this program again, in this process, with these arguments. If that fails, the process
/// exits.
[[noreturn]] void execute_program(std::vector<std::string> arguments) noexcept;

/// The harness descriptors that an executed process needs, at the same numbers. A process of an
/// ungated run cannot choose the next pid, as others start processes at the same time.
std::vector<os::PassedFd> harness_descriptors(bool is_gated);

/// Raises the limit of descriptors to its maximum.
void lift_limits() noexcept;

/// Lifts limits during its lifetime.
class LimitsLifted {
 public:
  LimitsLifted() noexcept;
  LimitsLifted(const LimitsLifted&) = delete;
  LimitsLifted& operator=(const LimitsLifted&) = delete;
  ~LimitsLifted();

 private:
  std::uint64_t before_;
};

/// The user of the processes in the ordinary-user ambient.
inline constexpr std::uint32_t ordinary_user_id = 65534;

/// Changes the calling process to the ordinary user; it can inspect itself as before. Root's
/// privileges remain only where the outside party takes them from. False if not permitted.
bool become_ordinary_user() noexcept;
/// Reverts this, before an exec.
void become_root_again() noexcept;

/// Closes 0, 1 and 2.
void close_standard_descriptors() noexcept;

/// Makes the full pipe that no process reads, unless it already exists.
void make_unread_pipe() noexcept;

}  // namespace lastref::harness
