// worker_group: the worker processes of a pool, from their start until the last is reaped.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lastref/task.hpp>

#include "impl/backends/pipe_ends.hpp"

namespace lastref::backends {

class Job;

/// A worker that exits normally only has to release its references.
inline constexpr std::chrono::seconds leave_timeout{5};

struct WorkerProcess {
  os::Pid pid = 0;
  os::UniqueFd process;
  Outbox jobs;
  Inbox results;
  std::list<std::shared_ptr<Job>> in_flight;  ///< In the order in which they were sent.
  /// The error for which it was killed; it explains more than the signal.
  std::optional<Error> trouble;
  std::string reason;               ///< The reason that it reported before it exited.
  std::optional<Error> kill_error;  ///< Why it could not be killed.
  /// When it has closed a pipe.
  std::optional<os::Instant> pipe_closed_at;
  bool is_retired = false;       ///< It gets no more jobs, and its death will be seen.
  bool runs_short_jobs = false;  ///< Its last job was over before another one could have been sent.
};

/// How workers are started.
struct WorkerStart {
  /// Variables that they have in addition to those of this process.
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<std::string> arguments = {};  ///< After those that each worker has.
};

class WorkerGroup {
 public:
  /// Starts all of them, or none. Their numbers are `first` and the following ones.
  ///
  /// Errors          of make_pipe, open_process, spawn or the session's tree. No worker is left.
  static Result<WorkerGroup> start(const Session& session,
                                   unsigned count,
                                   unsigned first = 1,
                                   const WorkerStart& how = {});

  WorkerGroup(WorkerGroup&&) noexcept = default;
  WorkerGroup& operator=(WorkerGroup&&) noexcept = default;
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;
  /// Kills the remaining workers, and reaps them.
  ~WorkerGroup() { end(/*kills=*/true); }

  std::vector<std::unique_ptr<WorkerProcess>>& workers() noexcept { return workers_; }
  const std::vector<std::unique_ptr<WorkerProcess>>& workers() const noexcept { return workers_; }

  /// SIGKILL, without waiting.
  void kill(WorkerProcess& worker) noexcept;
  void kill_all() noexcept;
  struct Reaped {
    bool is_dead = false;
    std::optional<os::ChildExit> exit;  ///< None if its exit status is unknown.
  };
  /// Reaps a worker if it is dead.
  Reaped reap(WorkerProcess& worker) noexcept;
  void remove(const WorkerProcess& worker) noexcept;

  /// Ends all workers: asks them to exit, and kills those that still run after a timeout, or
  /// immediately with `kills`. Returns when all are reaped.
  void end(bool kills) noexcept;

 private:
  explicit WorkerGroup(os::Os& os) noexcept : os_(&os) {}
  /// The descriptors by which workers see the end of their parent.
  struct Parent {
    os::Fd process = os::Fd::none;
    os::Fd leash = os::Fd::none;
  };
  Status spawn_worker(const Session& session,
                      const std::string& tree,
                      Parent parent,
                      unsigned number,
                      const WorkerStart& how);
  void report_unkillable(const WorkerProcess& worker) noexcept;
  /// Polls up to this often if there is no memory for it.
  bool wait_for_deaths(std::chrono::nanoseconds timeout, int polls) noexcept;

  os::Os* os_;
  os::UniqueFd leash_;  ///< Closed by exec, and never before the workers have ended.
  std::vector<std::unique_ptr<WorkerProcess>> workers_;
  std::vector<os::PollItem> items_;  // with space for each worker, because the end needs no memory
};

}  // namespace lastref::backends
