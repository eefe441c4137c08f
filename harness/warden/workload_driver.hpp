// WorkloadDriver: gives a server its work. A separate process, not part of the watched tree, runs
// your commands: one until it succeeds, because the server is ready then, and another one in
// rounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <lastref/error.hpp>

#include "harness/platform/unique_fd.hpp"
#include "harness/warden/user_command.hpp"

namespace lastref::harness::warden {

struct ServerWork {
  std::string ready = {};  ///< A command that fails until the server is ready; empty: it is ready
  std::string work = {};   ///< One round; empty: there are no rounds
  std::uint64_t rounds = 1;

  bool is_wanted() const noexcept { return !ready.empty() || !work.empty(); }
};

class WorkloadDriver {
 public:
  enum class Event : std::uint8_t {
    nothing,
    round_is_over,  ///< The workload driver waits for go_on().
    all_is_done,    ///< Or a command has failed.
  };

  WorkloadDriver() noexcept = default;
  WorkloadDriver(const WorkloadDriver&) = delete;
  WorkloadDriver& operator=(const WorkloadDriver&) = delete;
  /// Ends the workload driver and the command that it runs.
  ~WorkloadDriver();

  /// Starts it as a child of ours; its children are not reparented to us.
  Status start(const ServerWork& work);
  bool is_there() const noexcept { return process_ > 0; }
  int process() const noexcept { return process_; }
  /// Whether the server became ready; false: not yet, or never.
  bool is_ready() const noexcept { return is_ready_; }
  bool is_done() const noexcept { return is_done_; }
  /// Does not wait.
  Event receive();
  void go_on() noexcept;
  /// The command that failed.
  const std::optional<CommandFailure>& failure() const noexcept { return failure_; }

 private:
  int process_ = -1;
  UniqueFd socket_;
  bool is_ready_ = false;
  bool is_done_ = false;
  std::optional<CommandFailure> failure_;
};

}  // namespace lastref::harness::warden
